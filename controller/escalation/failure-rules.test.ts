import { describe, expect, it } from "vitest";
import type { FailureRule } from "../../src/api/jobset.ts";
import { driverScene, FIRST, failureRule } from "../testing/scene.ts";
import { crashed, failedByPolicy, mayRecreateJobSet, recreationAfter, ruleFor } from "./failure-rules.ts";

const FAIL_ON_7 = { action: "FailJob", onExitCodes: { containerName: "main", operator: "In", values: [7] } };

function jobSetWith(...rules: readonly Partial<FailureRule>[]) {
  const named = rules.map((rule, index) => failureRule({ name: `rule${index}`, ...rule }));
  const scene = driverScene({ failurePolicy: { maxRestarts: 1, restartStrategy: "Recreate", rules: named } });
  if (scene.group.jobSet === undefined) throw new Error("the scene has a JobSet");
  return scene.group.jobSet;
}

describe("the first rule that matches a failed Job", () => {
  it("is taken by replicatedJob, reason and message, all of which must match", () => {
    const jobSet = jobSetWith(
      { targetReplicatedJobs: ["workers"] },
      { onJobFailureReasons: ["DeadlineExceeded", "PodFailurePolicy"] },
      { onJobFailureReasons: ["BackoffLimitExceeded"], onJobFailureMessagePatterns: ["(?i)exit code", "other"] },
      { onJobFailureMessagePatterns: ["^Job has reached .* backoff limit$"], targetReplicatedJobs: ["driver"] },
    );
    expect(ruleFor(jobSet, crashed("workers"))?.name).toBe("rule0");
    expect(ruleFor(jobSet, { ...crashed("driver"), reason: "PodFailurePolicy" })?.name).toBe("rule1");
    expect(ruleFor(jobSet, crashed("driver"))?.name).toBe("rule3");
    expect(ruleFor(jobSet, crashed("evaluators"))).toBeUndefined();
  });

  it("is not one whose pattern cannot be evaluated", () => {
    const jobSet = jobSetWith({ onJobFailureMessagePatterns: ["\\pL"] }, { onJobFailureMessagePatterns: ["(?=J)"] });
    expect(ruleFor(jobSet, crashed("workers"))).toBeUndefined();
  });

  it("sees the message that the Job controller writes for a podFailurePolicy", () => {
    const ignore = { action: "Ignore", onExitCodes: { containerName: "logger", operator: "In", values: [7] } };
    const workers = { podFailureRules: [ignore, FAIL_ON_7], failJobCodes: [7] };
    const { group } = driverScene({}, workers).fails(FIRST, "a", 7);
    const [loss] = group.losses.values();
    if (group.jobSet === undefined || loss === undefined) throw new Error("the scene has a loss");
    expect(failedByPolicy(group.jobSet, loss)).toEqual({
      replicatedJob: "workers",
      reason: "PodFailurePolicy",
      message: `Container main for pod ml/${FIRST} failed with exit code 7 matching FailJob rule at index 1`,
    });
  });
});

describe("JobSet's recreation after a failed Job", () => {
  it.each([
    ["FailJobSet", "none"],
    ["RestartJobSet", "counted"],
    ["RestartJobSetAndIgnoreMaxRestarts", "exempt"],
    ["RestartJob", "counted"],
    ["RestartJobAndIgnoreMaxRestarts", "exempt"],
  ] as const)("with the action %s is: %s", (action, recreation) => {
    expect(recreationAfter(jobSetWith({ action }), crashed("workers"))).toBe(recreation);
  });

  it.each([
    [{ onJobFailureReasons: ["BackoffLimitExceeded"] }, true, false],
    [{ onJobFailureReasons: ["DeadlineExceeded"] }, false, false],
    [{ action: "RestartJobSetAndIgnoreMaxRestarts" }, true, true],
  ] as const)(
    "for the ladder, with the rule %j, is allowed if counted: %s, and if not: %s",
    (rule, counted, exempt) => {
      expect(mayRecreateJobSet(jobSetWith(rule), "workers", true)).toBe(counted);
      expect(mayRecreateJobSet(jobSetWith(rule), "workers", false)).toBe(exempt);
    },
  );

  it("is counted without a rule that matches, and none is left at maxRestarts or without a failure policy", () => {
    const jobSet = jobSetWith({ targetReplicatedJobs: ["driver"] });
    expect(recreationAfter(jobSet, crashed("workers"))).toBe("counted");
    expect(recreationAfter({ ...jobSet, restartsCountTowardsMax: 1 }, crashed("workers"))).toBe("none");
    const { failurePolicy: _, ...without } = jobSet;
    expect(recreationAfter(without, crashed("workers"))).toBe("none");
  });
});
