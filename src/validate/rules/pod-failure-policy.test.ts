import { expect, it } from "vitest";
import type { ReplicatedJobParts } from "../../../test/builders/jobset.ts";
import { describeRule, findingsOf, jobPath, plain } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import type { JsonObject } from "../../json/types.ts";
import { podFailurePolicy } from "./pod-failure-policy.ts";

describeRule(podFailurePolicy, {
  accepts: [
    "a rule for a code that fails the Pod",
    plain(failOn([42]))
      .annotation(ANNOTATION.recreateExitCodes, "42")
      .build(),
  ],
  reports: [
    "a rule for a code that restarts in place",
    plain(failOn([42])).build(),
    `${jobPath}.podFailurePolicy.rules[0].onExitCodes.values`,
    /exit with 42 restart in place and never reach this rule/,
  ],
  ignores: ["a JobSet without a podFailurePolicy", plain().build()],
});

it("pod-failure-policy reports a rule without a container name, which also matches the agent", () => {
  const object = plain(failOn([137], {}))
    .annotation(ANNOTATION.recreateExitCodes, "137")
    .build();
  expect(findingsOf(podFailurePolicy, object)).toMatchObject([{ path: expect.stringMatching(/containerName$/) }]);
});

function failOn(values: number[], container: JsonObject = { containerName: "train" }): ReplicatedJobParts {
  const rule = { action: "FailJob", onExitCodes: { ...container, operator: "In", values } };
  return { pods: 1, job: { podFailurePolicy: { rules: [rule] } } };
}
