import { AGENT } from "../../api/names.ts";
import { podPath } from "../../inject/parts/template.ts";
import { isObject, listAt } from "../../json/edit.ts";
import { CHANGED_AFTER_INJECTION, inParticipants } from "../integrity.ts";
import type { Rule } from "../rule.ts";

export const agentFirst: Rule = {
  name: "agent-first",
  describe:
    "Every participating Pod has the agent as its first initContainer: a container before it does not wait for the " +
    "barrier, and a Pod without it never joins the group.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inParticipants(subject, "every participant starts with its agent", ({ agent, index, template }) => {
      const path = `${podPath(index)}.initContainers`;
      if (agent === undefined) {
        const message = `has no ${AGENT.container}, so the group would never start: ${CHANGED_AFTER_INJECTION}`;
        return [{ path, message }];
      }
      const [first] = listAt(template.podSpec, "initContainers");
      if (first === agent) return [];
      const name = isObject(first) ? first["name"] : undefined;
      const message =
        `${JSON.stringify(name ?? "")} is before ${AGENT.container} and would not wait for the barrier: ` +
        `${CHANGED_AFTER_INJECTION}`;
      return [{ path: `${path}[0]`, message }];
    }),
};
