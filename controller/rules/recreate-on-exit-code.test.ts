import { describe, expect, it } from "vitest";
import type { FailureRule } from "../../src/api/jobset.ts";
import { observeJobSet } from "../group/observe.ts";
import { DRIVER, driverScene, FIRST, failureRule, type Scene, SECOND } from "../testing/scene.ts";

const WORKERS = {
  podFailureRules: [{ action: "FailJob", onExitCodes: { operator: "In", values: [7] } }],
  failJobCodes: [7],
};

function start(maxRestarts: number, ...rules: readonly Partial<FailureRule>[]): Scene {
  const failurePolicy = { maxRestarts, restartStrategy: "Recreate", rules: rules.map(failureRule) };
  return driverScene({ failurePolicy }, WORKERS);
}

function deadline(scene: Scene): number | undefined {
  return scene.group.jobs.get("workers-0")?.job.activeDeadlineSeconds;
}

describe("an exit code that the user's podFailurePolicy makes fail the Job", () => {
  it("has JobSet recreate everything, on its own count, if it has a recreation left", () => {
    const scene = start(1).fails(FIRST, "a", 7).settle();
    expect(deadline(scene)).toBe(1);
    expect(scene.status).toMatchObject({ deprecatedEpoch: 1, restarts: 0 });
    expect(scene.status.history).toMatchObject([
      { action: "RecreateJobSet", rule: "recreate-on-exit-code", target: "workers-0", counted: false },
    ]);
    expect(scene.notices).toMatchObject([
      {
        reason: "RecreatingJobSet",
        note: `Pod ${FIRST}: container main exited with code 7, which fails its Job by podFailurePolicy`,
      },
    ]);
  });

  it("fails the JobSet at once if JobSet has no recreation left", () => {
    expect(start(0).fails(FIRST, "a", 7).step()).toMatchObject({ kind: "fail", reason: "NonRetriableExitCode" });
  });

  it("fails the JobSet at once if it has no failure policy", () => {
    const scene = start(9);
    if (scene.group.jobSet === undefined) throw new Error("the scene has a JobSet");
    const { failurePolicy: _, ...jobSet } = scene.group.jobSet;
    observeJobSet(scene.group, jobSet, scene.now);
    expect(scene.fails(FIRST, "a", 7).step()).toMatchObject({ kind: "fail", reason: "NonRetriableExitCode" });
  });

  it("fails the JobSet at once if a rule for PodFailurePolicy says so", () => {
    const scene = start(9, { onJobFailureReasons: ["PodFailurePolicy"] }).fails(FIRST, "a", 7);
    expect(scene.step()).toMatchObject({ kind: "fail", reason: "NonRetriableExitCode" });
  });

  it("is recreated beyond maxRestarts if a rule does not count it", () => {
    const scene = start(0, { action: "RestartJobSetAndIgnoreMaxRestarts" }).fails(FIRST, "a", 7).settle();
    expect(deadline(scene)).toBe(1);
  });

  it("takes over a restart that another failure has begun", () => {
    const scene = start(1).fails(DRIVER, "a").settle();
    expect(scene.status.history).toMatchObject([{ action: "RestartInPlace", counted: true }]);
    scene.fails(FIRST, "a", 7).settle();
    expect(scene.status.history).toMatchObject([{ action: "RecreateJobSet", counted: false, cause: { pod: FIRST } }]);
    expect(deadline(scene)).toBe(1);
  });

  it("does not fail the JobSet when the recreation that it began was the last one", () => {
    const scene = start(1).fails(FIRST, "a", 7).settle();
    scene.changeJobSet({ restarts: 1, restartsCountTowardsMax: 1 }).settle();
    expect(scene.group.jobSet?.outcome).toBe("none");
    scene.fails(SECOND, "a", 7).settle();
    expect(scene.group.jobSet?.outcome).toBe("none");
    expect(scene.status.history).toHaveLength(1);
  });

  it("does not concern other codes", () => {
    expect(start(1).fails(FIRST, "a", 8).settle().status.history).toMatchObject([{ action: "RestartInPlace" }]);
  });
});
