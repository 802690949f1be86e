import {
  AGENT_AT,
  agentPath,
  broken,
  describeRule,
  listIn,
  NOT_INJECTED,
} from "../../../test/builders/rule-examples.ts";
import { agentEnvironment } from "./agent-environment.ts";

describeRule(agentEnvironment, {
  accepts: [
    "an agent with one more variable",
    broken([...AGENT_AT, "env"], [...listIn(...AGENT_AT, "env"), { name: "HTTP_PROXY", value: "proxy" }]),
  ],
  reports: [
    "an agent that lost a variable",
    broken([...AGENT_AT, "env"], listIn(...AGENT_AT, "env").slice(1)),
    `${agentPath}.env[NAMESPACE]`,
    /is missing, so the agent cannot start/,
  ],
  ignores: NOT_INJECTED,
});
