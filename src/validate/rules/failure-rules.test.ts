import { expect, it } from "vitest";
import { describeRule, findingsOf, plain } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import type { JsonObject } from "../../json/types.ts";
import { failureRules } from "./failure-rules.ts";

function ruled(...rules: JsonObject[]): JsonObject {
  return plain()
    .spec({ failurePolicy: { maxRestarts: 3, rules } })
    .build();
}

describeRule(failureRules, {
  accepts: [
    "rules that mean the same in place",
    ruled(
      { name: "leader", action: "FailJobSet", targetReplicatedJobs: ["workers"] },
      { name: "host", action: "RestartJobSetAndIgnoreMaxRestarts", onJobFailureMessagePatterns: ["(?i)backoff"] },
      { name: "late", action: "RestartJobSet", onJobFailureReasons: ["DeadlineExceeded", "FailedIndexes"] },
    ),
  ],
  reports: [
    "a pattern that cannot be evaluated",
    ruled({ name: "a", action: "FailJobSet", onJobFailureMessagePatterns: ["limit", "\\pL+"] }),
    "spec.failurePolicy.rules[0].onJobFailureMessagePatterns[1]",
    /cannot be evaluated for a restart in place/,
  ],
  ignores: ["a JobSet without rules", plain().build()],
});

it.each([
  ["RestartJob", "RestartJobSet"],
  ["RestartJobAndIgnoreMaxRestarts", "RestartJobSetAndIgnoreMaxRestarts"],
])("failure-rules says that %s restarts the whole group, as %s does", (action, alternative) => {
  const rules = [
    { name: "a", action: "FailJobSet" },
    { name: "b", action },
  ];
  const object = plain({ replicas: 2 }).spec({ failurePolicy: { maxRestarts: 3, rules } });
  expect(findingsOf(failureRules, object.build())).toMatchObject([
    { path: "spec.failurePolicy.rules[1].action", message: expect.stringContaining(`use ${alternative},`) },
  ]);
});

it("failure-rules accepts RestartJob in a group of one Job, which is restarted as a whole anyway", () => {
  expect(findingsOf(failureRules, ruled({ name: "a", action: "RestartJob" }))).toEqual([]);
});

it("failure-rules reports a rule for reasons that never occur in a group", () => {
  const onJobFailureReasons = ["FailedIndexes", "MaxFailedIndexesExceeded"];
  expect(findingsOf(failureRules, ruled({ name: "a", action: "FailJobSet", onJobFailureReasons }))).toMatchObject([
    {
      path: "spec.failurePolicy.rules[0].onJobFailureReasons",
      message: expect.stringContaining("add BackoffLimitExceeded"),
    },
  ]);
});

it("failure-rules does not concern rules for other replicatedJobs, and not the rule that injection adds", () => {
  const rules = [{ name: "a", action: "RestartJob", targetReplicatedJobs: ["plain"] }];
  const object = plain()
    .annotation(ANNOTATION.replicatedJobs, "workers")
    .annotation(ANNOTATION.failExitCodes, "42")
    .replicatedJob("plain")
    .spec({ failurePolicy: { maxRestarts: 3, rules } })
    .build();
  expect(findingsOf(failureRules, object)).toEqual([]);
});
