import { AGENT } from "../../api/names.ts";
import { listAt, objectAt } from "../../json/edit.ts";
import { CHANGED_AFTER_INJECTION, inAgents } from "../integrity.ts";
import type { Rule } from "../rule.ts";

export const agentGate: Rule = {
  name: "agent-gate",
  describe:
    "The agent's postStart hook is the gate, which ends when the barrier lifts: without it the workers would not " +
    "wait for the group.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inAgents(subject, "every agent has its gate", (agent, path) => {
      const hook = objectAt(objectAt(objectAt(agent, "lifecycle"), "postStart"), "exec");
      const command = listAt(hook, "command");
      if (command.includes(AGENT.binary) && command.includes(AGENT.gateCommand)) return [];
      const found = hook === undefined ? "is not set" : "does not wait for the barrier";
      const message = `${found}, so the workers would not wait for the group: ${CHANGED_AFTER_INJECTION}`;
      return [{ path: `${path}.lifecycle.postStart.exec`, message }];
    }),
};
