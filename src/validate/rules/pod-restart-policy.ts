import { podPath } from "../../inject/parts/template.ts";
import { brief } from "../../json/brief.ts";
import { CHANGED_AFTER_INJECTION, inParticipants } from "../integrity.ts";
import type { Rule } from "../rule.ts";

export const podRestartPolicy: Rule = {
  name: "pod-restart-policy",
  describe:
    "Participating Pods have restartPolicy Never: with OnFailure a container would restart alone, and each restart " +
    "would count against the Job.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inParticipants(subject, "containers restart by their rules alone", ({ index, template: { podSpec } }) => {
      if (podSpec["restartPolicy"] === "Never") return [];
      const found = brief(podSpec["restartPolicy"]);
      const message = `is ${found} and not "Never", so containers would restart alone: ${CHANGED_AFTER_INJECTION}`;
      return [{ path: `${podPath(index)}.restartPolicy`, message }];
    }),
};
