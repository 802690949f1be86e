import { AGENT_AT, agentPath, broken, describeRule, NOT_INJECTED } from "../../../test/builders/rule-examples.ts";
import { agentProcess } from "./agent-process.ts";

describeRule(agentProcess, {
  accepts: ["an agent with a mirrored image", broken([...AGENT_AT, "image"], "mirror.example/reprise:test")],
  reports: [
    "an agent without a restartPolicy",
    broken([...AGENT_AT, "restartPolicy"], null),
    `${agentPath}.restartPolicy`,
    /is not set and not "Always"/,
  ],
  ignores: NOT_INJECTED,
});
