import { describe, expect, it } from "vitest";
import type { FailureRule } from "../../src/api/jobset.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import type { ContainerState } from "../../src/api/pod.ts";
import {
  DELETED,
  DISRUPTED,
  DRIVER,
  driverScene,
  FIRST,
  failTwice,
  failureRule,
  type Scene,
  SECOND,
} from "../testing/scene.ts";

/** A leader that must not fail, with the backoffLimit that the user wrote. */
function leaderScene(backoffLimit: number, rule: Partial<FailureRule> = {}): Scene {
  const annotations = { [ANNOTATION.status]: JSON.stringify({ backoffLimits: { driver: backoffLimit } }) };
  const rules = [failureRule({ name: "leader", targetReplicatedJobs: ["driver"], ...rule })];
  return driverScene({ annotations, failurePolicy: { maxRestarts: 9, restartStrategy: "Recreate", rules } });
}

function crashAndRecover(scene: Scene, slot: string): Scene {
  const { syncedEpoch } = scene.status;
  scene.fails(slot, syncedEpoch === 1 ? "a" : `run-${syncedEpoch}`).settle();
  scene.now += 2_000;
  scene.settle();
  const slots = [DRIVER, FIRST, SECOND];
  scene.now = Math.max(scene.now, Date.parse(scene.status.history.at(-1)?.backoffUntil ?? "1970-01-01"));
  return scene
    .at(syncedEpoch + 1, ...slots)
    .settle()
    .runs(`run-${syncedEpoch + 1}`, ...slots)
    .settle();
}

describe("fail-on-failure-rule", () => {
  it("fails the JobSet at once for a leader without retries, with JobSet's own reason, and names the rule", () => {
    const scene = leaderScene(0).fails(DRIVER, "a", 3);
    const message = `Pod ${DRIVER}: container main exited with code 3, which failurePolicy rule leader makes final`;
    expect(scene.step()).toMatchObject({ kind: "fail", reason: "FailJobSetFailurePolicyAction", message });
    expect(scene.settle().status).toMatchObject({ deprecatedEpoch: 0, restarts: 0, phase: "Failed" });
    expect(scene.status.history).toMatchObject([{ action: "FailJobSet", rule: "fail-on-failure-rule" }]);
    expect(scene.notices).toMatchObject([{ reason: "FailJobSetFailurePolicyAction", note: message }]);
  });

  it("fails the JobSet for a leader that restarted, although no report has shown its exit code", () => {
    const scene = leaderScene(0).restarts(DRIVER).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 0, restarts: 0, phase: "Failed" });
    expect(scene.status.history).toMatchObject([{ action: "FailJobSet", cause: { reason: "PodRestarted" } }]);
  });

  it("waits for such a leader when a follower crashes", () => {
    const scene = leaderScene(0).restarts(FIRST).settle();
    expect(scene.epochs).toBe("0/1");
    scene.now += 1_500;
    expect(scene.restarts(DRIVER).settle().status.phase).toBe("Failed");
  });

  it("restarts in place for a follower that the rule does not target", () => {
    const scene = crashAndRecover(leaderScene(0), FIRST);
    expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: 1, phase: "Running" });
    expect(scene.status).not.toHaveProperty("ruleFailures");
  });

  it("restarts in place as often as the backoffLimit of the leader allows, and fails at the next failure", () => {
    const scene = crashAndRecover(crashAndRecover(crashAndRecover(leaderScene(2), DRIVER), FIRST), DRIVER);
    expect(scene.status).toMatchObject({ syncedEpoch: 4, restarts: 3, phase: "Running" });
    expect(scene.status.ruleFailures).toEqual([{ job: "driver-0", failures: 2, epoch: 3 }]);
    expect(scene.fails(DRIVER, "run-4").step()).toMatchObject({
      kind: "fail",
      reason: "FailJobSetFailurePolicyAction",
    });
  });

  it("does not count a failure of the leader that turns out to be a disruption of another Pod", () => {
    const scene = leaderScene(1).fails(DRIVER, "a").settle();
    expect(scene.status.ruleFailures).toHaveLength(1);
    scene.pod(FIRST, { deletion: DELETED, conditions: [DISRUPTED] }).settle();
    expect(scene.status).not.toHaveProperty("ruleFailures");
    expect(scene.status.history).toMatchObject([{ counted: false }]);
  });

  it("wins over the failure of a follower that was seen first, while the group restarts", () => {
    const scene = leaderScene(0).fails(FIRST, "a").settle();
    scene.now += 2_000;
    expect(scene.settle().epochs).toBe("1/1");
    expect(scene.fails(DRIVER, "a").step()).toMatchObject({ kind: "fail", reason: "FailJobSetFailurePolicyAction" });
  });

  it("does not take a leader that restarts with its group for one that failed", () => {
    const scene = leaderScene(0).fails(FIRST, "a").settle();
    scene.now += 2_000;
    scene.settle();
    const stopped: ContainerState = { kind: "terminated", exitCode: 1, reason: "Error" };
    const containers = scene.group.members.get(DRIVER)?.pod.containers.map((each) => ({ ...each, state: stopped }));
    scene.pod(DRIVER, { containers: containers ?? [] });
    expect(scene.settle().status).toMatchObject({ phase: "Restarting", deprecatedEpoch: 1 });
  });

  it("applies to a leader that restarted although no report has shown its exit", () => {
    const message = `Pod ${DRIVER}: restarted, which failurePolicy rule leader makes final`;
    expect(leaderScene(0).at(2, DRIVER).step()).toMatchObject({ kind: "fail", message });
  });

  it("does not apply to a leader that is evicted or deleted", () => {
    for (const conditions of [[DISRUPTED], []]) {
      const scene = leaderScene(0).pod(DRIVER, { deletion: DELETED, conditions }).settle();
      expect(scene.status).toMatchObject({ phase: "Restarting" });
    }
  });

  it("does not apply to a leader whose agent was killed and took the worker with it", () => {
    const scene = leaderScene(0);
    const killed: ContainerState = { kind: "terminated", exitCode: 137, reason: "Error" };
    const containers = scene.group.members.get(DRIVER)?.pod.containers.map((each) => ({ ...each, state: killed }));
    scene.pod(DRIVER, { containers: containers ?? [] });
    expect(scene.settle().status.phase).not.toBe("Failed");
  });

  it("tries again when the JobSet could not be failed", () => {
    const scene = leaderScene(0).fails(DRIVER, "a");
    scene.step();
    expect(scene.changeJobSet({ outcome: "none" }).step()).toMatchObject({
      kind: "fail",
      reason: "FailJobSetFailurePolicyAction",
    });
  });

  it.each([["PodFailurePolicy"], ["DeadlineExceeded"], ["FailedIndexes"]])(
    "does not apply to a crash if the rule is for the reason %s",
    (reason) => {
      const scene = leaderScene(0, { onJobFailureReasons: [reason] });
      expect(scene.fails(DRIVER, "a").settle().epochs).toBe("1/1");
    },
  );

  it("never has the ladder recreate the JobSet through a Job for which the rule would fail it", () => {
    const failurePolicy = { maxRestarts: 9, restartStrategy: "Recreate", rules: [failureRule()] };
    const scene = failTwice({ failurePolicy });
    expect(scene.status.history.map(({ action }) => action)).toEqual(["RecreatePod", "RecreatePod"]);
  });
});
