import { describe, expect, it } from "vitest";
import { FAIL_JOB_SET_RULE, failJobSetRule, podFailureRules, workerRestartRule } from "./compile.ts";
import { RESTART_EVERYTHING } from "./exit-codes.ts";

describe("compiled rules", () => {
  it("restart a worker in place on every failure when there are no classes", () => {
    expect(workerRestartRule(RESTART_EVERYTHING)).toEqual({
      action: "RestartAllContainers",
      exitCodes: { operator: "NotIn", values: [0] },
    });
  });

  it("leave the codes of both classes to the Job, in ascending order", () => {
    expect(workerRestartRule({ fail: [40, 137], recreate: [7, 50] })).toMatchObject({
      exitCodes: { values: [0, 7, 40, 50, 137] },
    });
  });

  it("look at a disruption before the exit code, because a preempted worker also exits", () => {
    const rules = podFailureRules({ fail: [137], recreate: [] }, ["train", "log"]);
    expect(rules.map((rule) => rule["action"])).toEqual(["Ignore", "FailJob", "FailJob"]);
    expect(rules[1]).toEqual({
      action: "FailJob",
      onExitCodes: { containerName: "train", operator: "In", values: [137] },
    });
  });

  it("fail no Job for a recreate code", () => {
    expect(podFailureRules({ fail: [], recreate: [7] }, ["train"])).toEqual([
      { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
    ]);
  });

  it("have a name that JobSet takes", () => {
    expect(FAIL_JOB_SET_RULE).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
    expect(failJobSetRule(["workers"])).toMatchObject({ targetReplicatedJobs: ["workers"] });
    expect(failJobSetRule([])).not.toHaveProperty("targetReplicatedJobs");
  });
});
