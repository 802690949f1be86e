import { expect, it } from "vitest";
import {
  AGENT_AT,
  agentPath,
  broken,
  describeRule,
  findingsOf,
  listIn,
  NOT_INJECTED,
} from "../../../test/builders/rule-examples.ts";
import { agentGate } from "./agent-gate.ts";

const GATE_AT = [...AGENT_AT, "lifecycle", "postStart", "exec"] as const;

describeRule(agentGate, {
  accepts: ["a wrapped gate", broken([...GATE_AT, "command"], ["/vault/env", ...listIn(...GATE_AT, "command")])],
  reports: [
    "an agent without its hook",
    broken([...AGENT_AT, "lifecycle"], null),
    `${agentPath}.lifecycle.postStart.exec`,
    /is not set, so the workers would not wait/,
  ],
  ignores: NOT_INJECTED,
});

it("agent-gate reports a hook that runs something else", () => {
  const object = broken([...GATE_AT, "command"], ["sleep", "1"]);
  expect(findingsOf(agentGate, object)).toMatchObject([
    { path: `${agentPath}.lifecycle.postStart.exec`, message: expect.stringMatching(/does not wait for the barrier/) },
  ]);
});
