import { expect, it } from "vitest";
import { at, changed, create, injected, settings } from "../../../test/builders/injection.ts";
import {
  AGENT_AT,
  agentPath,
  broken,
  describeRule,
  findingsOf,
  intact,
  NOT_INJECTED,
  plain,
} from "../../../test/builders/rule-examples.ts";
import type { Json } from "../../json/types.ts";
import { agentProbe } from "./agent-probe.ts";

const PROBE_AT = [...AGENT_AT, "startupProbe"] as const;

describeRule(agentProbe, {
  accepts: ["the probe of injection", intact],
  reports: [
    "an agent without its probe",
    broken(PROBE_AT, null),
    `${agentPath}.startupProbe`,
    /is not set, so the workers would not wait/,
  ],
  ignores: NOT_INJECTED,
});

it.each<[string, (string | number)[], Json, string]>([
  ["another port", ["httpGet", "port"], 8080, ""],
  ["another path", ["httpGet", "path"], "/healthz", ""],
  ["another mechanism", [], { exec: { command: ["true"] }, failureThreshold: 2_147_483_647 }, ""],
  ["an end", ["failureThreshold"], 30, ".failureThreshold"],
])("agent-probe reports a probe with %s", (_what, path, value, where) => {
  expect(findingsOf(agentProbe, broken([...PROBE_AT, ...path], value))).toMatchObject([
    { path: `${agentPath}.startupProbe${where}` },
  ]);
});

it("agent-probe accepts a wrapped process where the agent has no port, and reports another one", () => {
  const object = injected(create(plain().build(), { ...settings, agentPort: "none" }));
  const command = at(object, ...PROBE_AT, "exec", "command");
  const probing = (words: Json[]) => changed(object, [...PROBE_AT, "exec", "command"], words);
  expect(findingsOf(agentProbe, probing(["/vault/env", ...(Array.isArray(command) ? command : [])]))).toEqual([]);
  expect(findingsOf(agentProbe, probing(["true"]))).toMatchObject([{ path: `${agentPath}.startupProbe` }]);
});
