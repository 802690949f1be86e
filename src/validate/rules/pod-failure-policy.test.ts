import { expect, it } from "vitest";
import type { ReplicatedJobParts } from "../../../test/builders/jobset.ts";
import { describeRule, findingsOf, jobPath, plain } from "../../../test/builders/rule-examples.ts";
import type { JsonObject } from "../../json/types.ts";
import { podFailurePolicy } from "./pod-failure-policy.ts";

describeRule(podFailurePolicy, {
  accepts: ["FailJob on a code, which the worker's rule leaves to the Job", plain(failOn([42])).build()],
  reports: [
    "FailIndex on a code of a worker",
    plain(withRule({ action: "FailIndex", onExitCodes: { operator: "In", values: [42] } })).build(),
    `${jobPath}.podFailurePolicy.rules[0].action`,
    /restarts its group in place instead of failing its index/,
  ],
  ignores: ["a JobSet without a podFailurePolicy", plain().build()],
});

it("pod-failure-policy reports a rule without a container name, which also matches the agent", () => {
  const object = plain(failOn([137], {})).build();
  expect(findingsOf(podFailurePolicy, object)).toMatchObject([{ path: expect.stringMatching(/containerName$/) }]);
});

it("pod-failure-policy reports a condition other than DisruptionTarget", () => {
  const condition = (type: string) => ({ action: "FailJob", onPodConditions: [{ type, status: "True" }] });
  expect(findingsOf(podFailurePolicy, plain(withRule(condition("ConfigIssue"))).build())).toMatchObject([
    { path: `${jobPath}.podFailurePolicy.rules[0].onPodConditions` },
  ]);
  expect(findingsOf(podFailurePolicy, plain(withRule(condition("DisruptionTarget"))).build())).toEqual([]);
});

it("pod-failure-policy reports that no code is left for restarts in place", () => {
  const rule = { action: "FailJob", onExitCodes: { containerName: "train", operator: "NotIn", values: [0] } };
  expect(findingsOf(podFailurePolicy, plain(withRule(rule)).build())).toMatchObject([
    { path: `${jobPath}.podFailurePolicy.rules`, message: expect.stringContaining("on every exit code") },
  ]);
});

it.each(["Ignore", "Count"])("pod-failure-policy accepts %s on exit codes, which restarts in place", (action) => {
  const rule = { action, onExitCodes: { operator: "In", values: [42] } };
  expect(findingsOf(podFailurePolicy, plain(withRule(rule)).build())).toEqual([]);
});

function failOn(values: number[], container: JsonObject = { containerName: "train" }): ReplicatedJobParts {
  return withRule({ action: "FailJob", onExitCodes: { ...container, operator: "In", values } });
}

function withRule(rule: JsonObject): ReplicatedJobParts {
  return { pods: 1, job: { podFailurePolicy: { rules: [rule] } } };
}
