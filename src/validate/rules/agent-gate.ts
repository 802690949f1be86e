import { AGENT } from "../../api/names.ts";
import { listAt, objectAt } from "../../json/edit.ts";
import { FIND_THE_WEBHOOK, inAgents } from "../integrity.ts";
import type { Rule } from "../rule.ts";

export const agentGate: Rule = {
  name: "agent-gate",
  describe:
    "The agent's postStart hook ends when the barrier lifts: it is the gate, and without it the workers would not wait for the group.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inAgents(subject, "every agent has its gate", (agent, path) => {
      const hook = objectAt(objectAt(objectAt(agent, "lifecycle"), "postStart"), "exec");
      const command = listAt(hook, "command");
      if (command.includes(AGENT.binary) && command.includes(AGENT.gateCommand)) return [];
      const found = hook === undefined ? "is not set" : "does not wait for the barrier";
      const message = `${found}, so the workers would not wait for the group: ${FIND_THE_WEBHOOK}`;
      return [{ path: `${path}.lifecycle.postStart.exec`, message }];
    }),
};
