import { settings } from "../../../test/builders/injection.ts";
import {
  AGENT_AT,
  agentPath,
  broken,
  describeRule,
  intact,
  listIn,
  NOT_INJECTED,
  restartRule,
} from "../../../test/builders/rule-examples.ts";
import { agentRestartRule } from "./agent-restart-rule.ts";

describeRule(agentRestartRule, {
  accepts: ["an intact injected JobSet", intact],
  reports: [
    "a rule that restarts the agent alone",
    broken(
      [...AGENT_AT, "restartPolicyRules"],
      [restartRule("Restart", [settings.restartExitCode]), ...listIn(...AGENT_AT, "restartPolicyRules")],
    ),
    `${agentPath}.restartPolicyRules`,
    /does not restart the Pod when the agent exits with 88/,
  ],
  ignores: NOT_INJECTED,
});
