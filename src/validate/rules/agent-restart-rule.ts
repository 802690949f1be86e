import { listAt } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import { agentRestartRule as compiledRule } from "../../policy/compile.ts";
import { exitActions, FAILURE_CODES } from "../../policy/exit-actions.ts";
import { formatCodes } from "../../policy/exit-codes.ts";
import { CHANGED_AFTER_INJECTION, inAgents } from "../integrity.ts";
import type { Rule } from "../rule.ts";

const AS_INJECTED = compiledRule();

export const agentRestartRule: Rule = {
  name: "agent-restart-rule",
  describe:
    "Every failure of the agent restarts its whole Pod: an agent that restarts alone would move to the next epoch " +
    "while its workers still run the old one.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inAgents(subject, "every agent restarts its whole Pod", (agent, path) => {
      const rules = listAt(agent, "restartPolicyRules");
      // The rule of injection needs no check of every exit code.
      if (rules.length === 1 && equivalent(rules[0], AS_INJECTED)) return [];
      const action = exitActions(rules);
      const alone = FAILURE_CODES.filter((code) => action(code) !== "RestartAllContainers");
      if (alone.length === 0) return [];
      const codes = formatCodes(alone);
      const message = `does not restart the Pod when the agent exits with ${codes}: ${CHANGED_AFTER_INJECTION}`;
      return [{ path: `${path}.restartPolicyRules`, message }];
    }),
};
