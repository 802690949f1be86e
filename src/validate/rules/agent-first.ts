import { AGENT } from "../../api/names.ts";
import { podPath } from "../../inject/parts/template.ts";
import { isObject, listAt } from "../../json/edit.ts";
import { FIND_THE_WEBHOOK, inParticipants } from "../integrity.ts";
import type { Rule } from "../rule.ts";

export const agentFirst: Rule = {
  name: "agent-first",
  describe:
    "Every participant has the agent as its first initContainer: what starts before it does not wait for the barrier, and a Pod without it is never part of the group.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inParticipants(subject, "every participant starts with its agent", ({ agent, index, template }) => {
      const path = `${podPath(index)}.initContainers`;
      if (agent === undefined) {
        const message = `has no ${AGENT.container}, and the group would wait for this Pod for ever: ${FIND_THE_WEBHOOK}`;
        return [{ path, message }];
      }
      const [first] = listAt(template.podSpec, "initContainers");
      if (first === agent) return [];
      const name = isObject(first) ? first["name"] : undefined;
      const message = `${JSON.stringify(name ?? "")} stands in front of ${AGENT.container} and would not wait for the barrier: ${FIND_THE_WEBHOOK}`;
      return [{ path: `${path}[0]`, message }];
    }),
};
