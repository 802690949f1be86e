import { podPath } from "../../inject/parts/template.ts";
import { listAt, textAt } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { workerRestartRule } from "../../policy/compile.ts";
import { brief, FIND_THE_WEBHOOK, inParticipants } from "../integrity.ts";
import type { Problem, Rule } from "../rule.ts";

export const workerRules: Rule = {
  name: "worker-rules",
  describe:
    "Every worker has restartPolicy Never and the rule that restarts the Pod in place on all codes but those of a class.",
  severity: "error",
  scope: "opted-in",
  check(subject) {
    const rule = workerRestartRule(subject.inputs.policy);
    return inParticipants(subject, "every worker restarts its Pod in place", ({ index, template, workers }) =>
      template.containers.flatMap((container, position) =>
        workers.includes(textAt(container, "name") ?? "")
          ? problemsOf(container, rule, `${podPath(index)}.containers[${position}]`)
          : [],
      ),
    );
  },
};

function problemsOf(worker: JsonObject, rule: JsonObject, path: string): Problem[] {
  const problems: Problem[] = [];
  const policy = worker["restartPolicy"];
  if (policy !== "Never") {
    const message = `is ${brief(policy)} and not "Never", so this worker would restart without its group: ${FIND_THE_WEBHOOK}`;
    problems.push({ path: `${path}.restartPolicy`, message });
  }
  if (!listAt(worker, "restartPolicyRules").some((written: Json) => equivalent(written, rule))) {
    const message = `lack the rule that restarts the Pod in place for the codes that the annotations leave to it: ${FIND_THE_WEBHOOK}`;
    problems.push({ path: `${path}.restartPolicyRules`, message });
  }
  return problems;
}
