import { expect, it } from "vitest";
import { at, changed, create, injected, POD_SPEC } from "../../../test/builders/injection.ts";
import { container } from "../../../test/builders/jobset.ts";
import {
  AGENT_AT,
  broken,
  describeRule,
  findingsOf,
  intact,
  NOT_INJECTED,
  plain,
  podPath,
} from "../../../test/builders/rule-examples.ts";
import { agentFirst } from "./agent-first.ts";

describeRule(agentFirst, {
  accepts: ["an intact injected JobSet", intact],
  reports: [
    "a container before the agent",
    broken([...POD_SPEC, "initContainers"], [container("early"), at(intact, ...AGENT_AT) ?? null]),
    `${podPath}.initContainers[0]`,
    /"early" is before reprise-agent/,
  ],
  ignores: NOT_INJECTED,
});

it("agent-first reports the one replicatedJob that lost its agent", () => {
  const object = injected(create(plain().replicatedJob("driver", { pods: 1 }).build()));
  const path = ["spec", "replicatedJobs", 1, "template", "spec", "template", "spec", "initContainers"];
  expect(findingsOf(agentFirst, changed(object, path, []))).toMatchObject([
    { path: "spec.replicatedJobs[1].template.spec.template.spec.initContainers" },
  ]);
});
