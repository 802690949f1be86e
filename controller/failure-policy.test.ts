import { describe, expect, it } from "vitest";
import type { Job } from "../src/api/job.ts";
import { ANNOTATION } from "../src/api/names.ts";
import type { ContainerState } from "../src/api/pod.ts";
import { DELETED, DISRUPTED, runningScene, Scene } from "./testing/scene.ts";

const [A, B] = ["workers-0/0", "workers-0/1"];

/** Everybody is back in the next epoch, and runs as soon as the barrier may be lifted. */
function comeBack(scene: Scene, ...slots: readonly string[]): Scene {
  scene.now = Math.max(scene.now, Date.parse(scene.status.history.at(-1)?.backoffUntil ?? "1970-01-01"));
  const epoch = scene.status.syncedEpoch + 1;
  return scene
    .at(epoch, ...slots)
    .settle()
    .runs(`run-${epoch}`, ...slots)
    .settle();
}

/** The run that the slot is in now. */
function runOf(scene: Scene): string {
  return scene.status.syncedEpoch === 1 ? "a" : `run-${scene.status.syncedEpoch}`;
}

function fail(scene: Scene, slot: string, exitCode = 1): Scene {
  return scene.fails(slot, runOf(scene), exitCode);
}

/** The slot fails, and everybody comes back in place. */
function failAndRecover(scene: Scene, slot: string): Scene {
  return comeBack(fail(scene, slot).settle(), A, B);
}

const POLICY = {
  annotations: { [ANNOTATION.failExitCodes]: "40-50,137", [ANNOTATION.recreateExitCodes]: "60" },
};

describe("a code of the fail class", () => {
  it("fails the JobSet at once, names who said so, and restarts nobody", () => {
    const scene = fail(runningScene(POLICY), A, 42);
    const message = `Pod ${A}: container main exited with code 42, which ${ANNOTATION.failExitCodes} (40-50,137) makes final`;
    expect(scene.step()).toMatchObject({ kind: "fail", reason: "NonRetriableExitCode", message });
    expect(scene.settle().status).toMatchObject({ deprecatedEpoch: 0, syncedEpoch: 1, restarts: 0, phase: "Failed" });
    expect(scene.status.history).toMatchObject([{ cause: { pod: A, exitCode: 42 }, action: "FailJobSet" }]);
    expect(scene.notices).toMatchObject([{ type: "Warning", reason: "NonRetriableExitCode", note: message }]);
  });

  it("is tried again when the JobSet could not be failed", () => {
    const scene = fail(runningScene(POLICY), A, 42);
    scene.step();
    expect(scene.changeJobSet({ outcome: "none" }).step()).toMatchObject({
      kind: "fail",
      reason: "NonRetriableExitCode",
    });
  });

  it("of a Pod that has failed with it does the same", () => {
    const scene = fail(runningScene(POLICY), A, 42).pod(A, { phase: "Failed" });
    expect(scene.step()).toMatchObject({ kind: "fail", reason: "NonRetriableExitCode" });
  });

  it("wins over a failure elsewhere that was seen first", () => {
    const scene = fail(fail(runningScene(POLICY), B, 1).settle(), A, 42);
    expect(scene.step()).toMatchObject({ kind: "fail", reason: "NonRetriableExitCode" });
  });

  it("of a worker that was disrupted is not its program's verdict", () => {
    const scene = fail(runningScene(POLICY), A, 137)
      .pod(A, { phase: "Failed", conditions: [DISRUPTED] })
      .settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "Disruption" }, counted: false }]);
  });

  it("of a worker that went down with its agent is that of a signal", () => {
    const scene = fail(runningScene(POLICY), A, 137);
    const down: ContainerState = { kind: "terminated", exitCode: 137, reason: "Error" };
    const containers = scene.group.members.get(A)?.pod.containers.map((each) => ({ ...each, state: down })) ?? [];
    expect(scene.pod(A, { containers }).settle().status).toMatchObject({ phase: "Running", history: [] });
    expect(scene.at(2, A).settle().status.history).toMatchObject([{ cause: { reason: "PodRestarted" } }]);
  });

  it("that only a controller started since can see is believed when it lasts", () => {
    const scene = fail(runningScene(POLICY), A, 42).restartController();
    expect(scene.settle().verdict()).toEqual({ reports: [], wakeAt: scene.now + 15_000 });
    scene.now += 15_000;
    expect(scene.step()).toMatchObject({ kind: "fail", reason: "NonRetriableExitCode" });
  });
});

describe("a code of the recreate class", () => {
  it("restarts the group and deletes that Pod, and no other", () => {
    const scene = fail(runningScene(POLICY), A, 60);
    expect(scene.step()).toMatchObject({ kind: "write", status: { deprecatedEpoch: 1 } });
    expect(scene.step()).toEqual({ kind: "delete-pod", pod: { name: A, uid: A } });
    expect(scene.step()).toBeUndefined();
    expect(scene.notices.map(({ reason }) => reason)).toEqual(["RecreatingPod"]);
    scene.forgetPod(A);
    expect(comeBack(scene, `${A}#2`, B).status).toMatchObject({ syncedEpoch: 2, restarts: 1, phase: "Running" });
    expect(scene.status.history).toMatchObject([{ action: "RecreatePod", target: A, counted: true }]);
  });

  it("is remembered by a controller that was killed before it could delete the Pod", () => {
    const scene = fail(runningScene(POLICY), A, 60);
    scene.step();
    expect(scene.restartController().step()).toMatchObject({ kind: "delete-pod", pod: { uid: A } });
  });

  it("keeps the barrier down while the Pod is there, even at the next epoch", () => {
    const scene = fail(runningScene(POLICY), A, 60);
    scene.step();
    expect(scene.at(2, A, B).step()).toMatchObject({ kind: "delete-pod", pod: { uid: A } });
    expect(scene.settle().epochs).toBe("1/1");
  });

  it("takes every Pod that asks for it in the same epoch", () => {
    const scene = fail(fail(runningScene(POLICY), A, 60), B, 60);
    scene.step();
    expect([scene.step(), scene.step()]).toMatchObject([{ pod: { uid: A } }, { pod: { uid: B } }]);
  });

  it("leaves a Pod that has failed with it to its Job", () => {
    const scene = fail(runningScene(POLICY), A, 60).pod(A, { phase: "Failed" }).settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodFailed" }, action: "RecreatePod" }]);
    expect(scene.group.members.get(A)?.pod.deletion).toBeUndefined();
  });
});

describe("a slot that fails again and again", () => {
  const ample = { failurePolicy: { maxRestarts: 20, restartStrategy: "Recreate" } };

  it("walks the ladder: in place, a new Pod, the JobSet anew, and again until the budget is spent", () => {
    const scene = runningScene({ failurePolicy: { maxRestarts: 7, restartStrategy: "Recreate" } });
    failAndRecover(failAndRecover(scene, A), A);
    fail(scene, A).step();
    expect(scene.step()).toEqual({ kind: "delete-pod", pod: { name: A, uid: A } });
    comeBack(scene.forgetPod(A), `${A}#2`, B);
    for (const _ of [4, 5]) comeBack(fail(scene, `${A}#2`).settle(), `${A}#2`, B);
    fail(scene, `${A}#2`).step();
    expect(scene.step()).toEqual({ kind: "fail-job", job: { name: "train-workers-0", uid: "workers-0" } });
    expect(scene.step()).toBeUndefined();
    scene.job("workers-0", { outcome: "Failed" }).forgetPod(`${A}#2`).forgetPod(B).forgetJob("workers-0");
    scene.changeJobSet({ restarts: 1, restartsCountTowardsMax: 1 });
    scene.job("workers-0", { uid: "anew", outcome: "none" });
    const anew = ["workers-0/0#3", "workers-0/1#3"];
    for (const slot of anew) scene.pod(slot, { controller: { kind: "Job", name: "train-workers-0", uid: "anew" } });
    comeBack(scene, ...anew);
    expect(scene.status.history.map(({ action, counted }) => `${action} ${counted}`)).toEqual([
      "RestartInPlace true",
      "RestartInPlace true",
      "RecreatePod true",
      "RestartInPlace true",
      "RestartInPlace true",
      // JobSet counts what it recreates.
      "RecreateJobSet false",
    ]);
    expect(scene.status.restarts).toBe(5);
    comeBack(fail(scene, "workers-0/0#3").settle(), ...anew);
    expect(fail(scene, "workers-0/0#3").step()).toMatchObject({ kind: "fail", reason: "ReachedMaxRestarts" });
    expect(scene.status.history.at(-1)).toMatchObject({ action: "FailJobSet", streak: { failures: 8 } });
    const rungs = ["RestartingInPlace", "RecreatingPod", "RecreatingJobSet", "ReachedMaxRestarts"];
    expect(scene.notices.map(({ reason }) => reason).filter((reason) => rungs.includes(reason))).toEqual([
      "RestartingInPlace",
      "RestartingInPlace",
      "RecreatingPod",
      "RestartingInPlace",
      "RestartingInPlace",
      "RecreatingJobSet",
      "RestartingInPlace",
      "ReachedMaxRestarts",
    ]);
  });

  it("is known by its slot, not by its Pod, and across controllers", () => {
    const scene = failAndRecover(failAndRecover(runningScene(ample), A), A).restartController();
    scene.runs("run-x", A, B).settle().fails(A, "run-x").settle();
    // The new controller has not seen the run begin, so its end shows by the next epoch.
    expect(scene.at(4, A).settle().status.history.at(-1)).toMatchObject({
      action: "RecreatePod",
      streak: { slot: "train-workers-0/0", failures: 3 },
    });
  });

  it("is not the same when another failed in between", () => {
    const scene = failAndRecover(failAndRecover(failAndRecover(runningScene(ample), A), A), B);
    expect(fail(scene, A).settle().status.history.at(-1)).toMatchObject({
      action: "RestartInPlace",
      streak: { restarts: 4, failures: 1 },
    });
  });

  it("is forgotten after a run that made progress", () => {
    const scene = failAndRecover(failAndRecover(runningScene(ample), A), A);
    scene.now += 600_000;
    expect(fail(scene, A).settle().status.history.at(-1)).toMatchObject({
      action: "RestartInPlace",
      streak: { restarts: 1, failures: 1 },
    });
  });

  it("is not helped or harmed by a disruption in between", () => {
    const scene = failAndRecover(failAndRecover(runningScene(ample), A), A);
    scene
      .pod(B, { deletion: DELETED, conditions: [DISRUPTED] })
      .settle()
      .forgetPod(B);
    comeBack(scene, A, `${B}#2`);
    expect(fail(scene, A).settle().status.history.at(-1)).toMatchObject({
      action: "RecreatePod",
      streak: { restarts: 3, failures: 3 },
    });
  });

  it("is not blamed for a Pod that somebody deletes", () => {
    const scene = failAndRecover(failAndRecover(runningScene(ample), A), A);
    scene.policy = { ...scene.policy, escalateAfter: 2, backoff: { ...scene.policy.backoff, after: 0 } };
    scene.pod(A, { deletion: DELETED }).settle();
    expect(scene.status.history.at(-1)).toMatchObject({ action: "RestartInPlace", streak: { failures: 2 } });
    expect(scene.status.history.at(-1)?.backoffUntil).toBeUndefined();
  });

  it("is reported when JobSet does not recreate it, and the controller does not spin meanwhile", () => {
    const scene = runningScene({ ...ample, annotations: { [ANNOTATION.escalateAfter]: "1" } });
    comeBack(fail(scene, A).settle().forgetPod(A), `${A}#2`, B);
    fail(scene, `${A}#2`).settle().at(3, `${A}#2`, B).settle();
    scene.now += 60_000;
    expect(scene.settle().notices.at(-1)).toMatchObject({ reason: "BarrierStalled" });
    expect(scene.verdict()).toEqual({ reports: [] });
  });

  it.each([
    ["0", "RestartInPlace"],
    ["1", "RecreatePod"],
    ["2", "RestartInPlace"],
  ])("after the number of failures that the annotation says: %s", (escalateAfter, action) => {
    const scene = runningScene({ ...ample, annotations: { [ANNOTATION.escalateAfter]: escalateAfter } });
    expect(fail(scene, A).settle().status.history).toMatchObject([{ action }]);
  });

  it("gets a new Pod once more where JobSet would not recreate but fail", () => {
    const annotations = { [ANNOTATION.maxRestarts]: "9", [ANNOTATION.escalateAfter]: "1" };
    const scene = runningScene({ annotations, failurePolicy: { maxRestarts: 0, restartStrategy: "Recreate" } });
    comeBack(fail(scene, A).settle().forgetPod(A), `${A}#2`, B);
    expect(fail(scene, `${A}#2`).settle().status.history.at(-1)).toMatchObject({ action: "RecreatePod" });
  });
});

describe("a group that crashes in a loop", () => {
  const ample = {
    failurePolicy: { maxRestarts: 20, restartStrategy: "Recreate" },
    annotations: { [ANNOTATION.escalateAfter]: "0" },
  };

  it("is not delayed three times, then 10 s, 20 s and so on, by a barrier that stays down", () => {
    const scene = failAndRecover(failAndRecover(failAndRecover(runningScene(ample), A), B), A);
    expect(scene.status.history.some(({ backoffUntil }) => backoffUntil !== undefined)).toBe(false);
    const backoffUntil = new Date(scene.now + 10_000).toISOString();
    fail(scene, B).settle();
    expect(scene.status.history.at(-1)).toMatchObject({ streak: { restarts: 4 }, backoffUntil });
    scene.now += 2_000;
    scene.at(5, A, B).settle();
    expect(scene.epochs).toBe("4/4");
    const message = `holding the barrier until ${backoffUntil}: 4 restarts in a row without progress`;
    expect(scene.status.conditions).toContainEqual(
      expect.objectContaining({ type: "AtBarrier", status: "True", reason: "BackOff", message }),
    );
    expect(scene.notices.at(-1)).toMatchObject({ reason: "BackingOff", note: message });
    expect(scene.verdict()).toEqual({ reports: [], wakeAt: scene.now + 8_000 });
    scene.now += 8_000;
    expect(scene.settle().epochs).toBe("4/5");
    expect(scene.status.history.at(-1)).toMatchObject({ synced: backoffUntil });
    scene.runs("run-5", A, B).settle();
    const next = new Date(scene.now + 20_000).toISOString();
    expect(fail(scene, A).settle().status.history.at(-1)).toMatchObject({ backoffUntil: next });
  });

  it("is held no longer than the cap, and not said to have stalled while it is", () => {
    const scene = runningScene(ample);
    scene.policy = { ...scene.policy, backoff: { after: 0, first: 100_000, max: 120_000 } };
    fail(scene, A).settle().at(2, A, B).settle();
    expect(scene.verdict().wakeAt).toBe(scene.now + 100_000);
    scene.now += 100_000;
    scene.settle().runs("run-2", A, B).settle();
    fail(scene, A).settle().at(3, A, B).settle();
    expect(scene.verdict().wakeAt).toBe(scene.now + 120_000);
    scene.now += 119_999;
    expect(scene.step()).toBeUndefined();
  });

  it("is not delayed after a run that made progress", () => {
    const scene = failAndRecover(failAndRecover(failAndRecover(runningScene(ample), A), B), A);
    scene.now += 600_000;
    expect(failAndRecover(scene, B).epochs).toBe("4/5");
  });

  it("is not held for a failure that a disruption excuses", () => {
    const scene = failAndRecover(failAndRecover(failAndRecover(runningScene(ample), A), B), A);
    fail(scene, B).settle();
    scene
      .pod(A, { deletion: DELETED, conditions: [DISRUPTED] })
      .settle()
      .forgetPod(A);
    expect(scene.status.history.at(-1)?.backoffUntil).toBeUndefined();
    expect(comeBack(scene, `${A}#2`, B).epochs).toBe("4/5");
    expect(scene.status.history.at(-1)).toMatchObject({ counted: false, streak: { restarts: 3 } });
  });
});

describe("a Pod that fails after another of its replicatedJob has succeeded", () => {
  it("has JobSet recreate everything, because the collective cannot form again in place", () => {
    const scene = runningScene().pod(A, { phase: "Succeeded" }).settle();
    fail(scene, B).settle();
    expect(scene.group.jobs.get("workers-0")?.job.activeDeadlineSeconds).toBe(1);
    expect(scene.status.history).toMatchObject([{ action: "RecreateJobSet", target: "workers-0", counted: false }]);
    expect(scene.notices.at(-1)).toMatchObject({
      reason: "RecreatingJobSet",
      note: `Pod ${B}: container main exited with code 1, but 1 of 2 Pods of workers have succeeded and cannot restart in place`,
    });
    expect(scene.at(2, B).settle().epochs).toBe("1/1");
  });

  it("leaves the end to JobSet where it has no recreation left, whatever is left of the budget, and says so", () => {
    const annotations = { [ANNOTATION.maxRestarts]: "10" };
    const scene = runningScene({ annotations, failurePolicy: { maxRestarts: 0, restartStrategy: "Recreate" } });
    fail(scene.pod(A, { phase: "Succeeded" }).settle(), B).settle();
    expect(scene.group.jobs.get("workers-0")?.job.activeDeadlineSeconds).toBe(1);
    expect(scene.notices.at(-1)?.note).toMatch(
      /; failurePolicy\.maxRestarts leaves no recreation, so the JobSet fails unless one of its rules says otherwise$/,
    );
  });

  it("restarts once, although the old Pods had come as far as the new ones when they went", () => {
    const scene = fail(runningScene().pod(A, { phase: "Succeeded" }).settle(), B)
      .settle()
      .at(2, B);
    scene.job("workers-0", { outcome: "Failed" }).pod(B, { deletion: DELETED }).settle();
    scene.forgetPod(B).forgetPod(A).forgetJob("workers-0").settle();
    const [a, b] = ["workers-0/0#2", "workers-0/1#2"];
    scene.job("workers-0", { uid: "anew", outcome: "none" });
    for (const slot of [a, b]) scene.pod(slot, { controller: { kind: "Job", name: "train-workers-0", uid: "anew" } });
    expect(comeBack(scene, a, b).status).toMatchObject({ deprecatedEpoch: 1, syncedEpoch: 2, phase: "Running" });
  });

  it("does so even if the other succeeds only while the group restarts", () => {
    const scene = fail(runningScene(), B).settle().pod(A, { phase: "Succeeded" }).at(2, B);
    expect(scene.settle().status.history).toMatchObject([{ action: "RecreateJobSet" }]);
    expect(scene.epochs).toBe("1/1");
  });

  it("fails the JobSet when the budget is spent", () => {
    const scene = runningScene({ failurePolicy: { maxRestarts: 0, restartStrategy: "Recreate" } });
    scene.pod(A, { phase: "Succeeded" }).settle();
    expect(fail(scene, B).step()).toMatchObject({ kind: "fail", reason: "ReachedMaxRestarts" });
  });

  describe("where JobSet has no recreation left", () => {
    const failurePolicy = { maxRestarts: 0, restartStrategy: "Recreate" } as const;
    const done = { completedIndexes: [{ first: 0, last: 0 }], succeeded: 1 };
    const partlyDone = () => {
      return runningScene({ failurePolicy }).pod(A, { phase: "Succeeded" }).job("workers-0", done).settle();
    };

    it("starts again by itself when it was evicted, and nothing is counted", () => {
      const scene = partlyDone()
        .pod(B, { deletion: DELETED, conditions: [DISRUPTED] })
        .settle();
      expect(comeBack(scene.forgetPod(B), `${B}#2`).status).toMatchObject({
        syncedEpoch: 2,
        restarts: 0,
        history: [{ cause: { reason: "Disruption" }, action: "RestartInPlace" }],
      });
    });

    it("starts again by itself when the InPlaceRestart was lost", () => {
      const scene = partlyDone().loseObject().settle();
      expect(scene.group.jobs.get("workers-0")?.job.activeDeadlineSeconds).toBeUndefined();
      expect(comeBack(scene, B).status).toMatchObject({ syncedEpoch: 2, restarts: 0 });
    });

    it("starts again by itself after a suspension that no controller has seen", () => {
      const scene = partlyDone().forgetPod(A).forgetPod(B);
      scene.now += 60_000;
      const lastTransitionTime = new Date(scene.now).toISOString();
      const resumed = { type: "Suspended", status: "False", reason: "", message: "", lastTransitionTime } as const;
      scene.changeJobSet({ conditions: [resumed] }).restartController();
      expect(comeBack(scene, `${B}#2`).status).toMatchObject({ syncedEpoch: 2, restarts: 0 });
      expect(scene.group.jobs.get("workers-0")?.job.activeDeadlineSeconds).toBeUndefined();
    });
  });

  it("takes a recreation with it when it was evicted, where there is one", () => {
    const scene = runningScene().pod(A, { phase: "Succeeded" }).settle();
    scene.pod(B, { deletion: DELETED, conditions: [DISRUPTED] }).settle();
    expect(scene.status.history).toMatchObject([{ action: "RecreateJobSet", counted: false }]);
  });

  it("restarts in place when all of an earlier replicatedJob is done, and nothing of its own", () => {
    const scene = new Scene({ prepare: { pods: 1 }, workers: { pods: 1 } }).settle().job("prepare-0").job("workers-0");
    scene.at(1, "prepare-0/0", A).settle().runs("a", "prepare-0/0", A).settle();
    scene.job("prepare-0", { outcome: "Complete" }).pod("prepare-0/0", { phase: "Succeeded" }).settle();
    expect(comeBack(fail(scene, A).settle(), A).status.history).toMatchObject([{ action: "RestartInPlace" }]);
  });
});

describe("a Job that JobSet is about to recreate keeps the barrier down, also when the group's state was lost", () => {
  const driver = "driver-0/0";
  const lost = (change: Partial<Job>) => {
    const stages = { driver: { pods: 1 }, workers: { pods: 1 } };
    const scene = new Scene(stages, { startupOrder: "InOrder" }).settle().job("driver-0").at(1, driver).settle();
    scene.runs("a", driver).settle().job("workers-0").at(1, A).settle().runs("a", A).settle();
    return scene.job("workers-0", change).loseObject().settle();
  };

  it("when it was told to fail", () => {
    const scene = lost({ activeDeadlineSeconds: 1 }).at(2, driver, A).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.forgetPod(A).forgetJob("workers-0").settle().epochs).toBe("1/2");
  });

  it("when it has failed", () => {
    const scene = lost({ outcome: "Failed" }).forgetPod(A).at(2, driver).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.forgetJob("workers-0").settle().epochs).toBe("1/2");
  });
});
