import { listAt } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import { agentRestartRule as compiledRule } from "../../policy/compile.ts";
import { spell } from "../../policy/exit-codes.ts";
import { exitActions, FAILURE_CODES } from "../exit-actions.ts";
import { FIND_THE_WEBHOOK, inAgents } from "../integrity.ts";
import type { Rule } from "../rule.ts";

const AS_INJECTED = compiledRule();

export const agentRestartRule: Rule = {
  name: "agent-restart-rule",
  describe:
    "Every failure of the agent restarts its whole Pod: an agent that restarted alone would move the epoch while its workers run the old one.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inAgents(subject, "every agent restarts its whole Pod", (agent, path) => {
      const rules = listAt(agent, "restartPolicyRules");
      // As injection left it, which needs no second look at every code of every agent.
      if (rules.length === 1 && equivalent(rules[0], AS_INJECTED)) return [];
      const action = exitActions(rules);
      const alone = FAILURE_CODES.filter((code) => action(code) !== "RestartAllContainers");
      if (alone.length === 0) return [];
      const message = `do not restart the Pod when the agent exits with ${spell(alone)}: ${FIND_THE_WEBHOOK}`;
      return [{ path: `${path}.restartPolicyRules`, message }];
    }),
};
