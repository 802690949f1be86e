import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { A, B, comeBack, fail, withMaxRestarts } from "../testing/restarts.ts";
import { DELETED, DISRUPTED, runningScene, Scene } from "../testing/scene.ts";

const EVICTED = { deletion: DELETED, conditions: [DISRUPTED] };

function deadline(scene: Scene): number | undefined {
  return scene.group.jobs.get("workers-0")?.job.activeDeadlineSeconds;
}

describe("recreate-after-partial-success", () => {
  it("has JobSet recreate everything, because the ranks cannot form a collective again in place", () => {
    const scene = runningScene().pod(A, { phase: "Succeeded" }).settle();
    fail(scene, B).settle();
    expect(deadline(scene)).toBe(1);
    expect(scene.status.history).toMatchObject([{ action: "RecreateJobSet", target: "workers-0", counted: false }]);
    const exit = `Pod ${B}: container main exited with code 1`;
    expect(scene.notices.at(-1)).toMatchObject({
      reason: "RecreatingJobSet",
      note: `${exit}, but 1 of 2 Pods of workers have succeeded and cannot restart in place`,
    });
    expect(scene.at(2, B).settle().epochs).toBe("1/1");
  });

  it("restarts the group once, although the old Pods had reached the same epoch as the new ones", () => {
    const scene = fail(runningScene().pod(A, { phase: "Succeeded" }).settle(), B)
      .settle()
      .at(2, B);
    scene.job("workers-0", { outcome: "Failed" }).pod(B, { deletion: DELETED }).settle();
    scene.forgetPod(B).forgetPod(A).forgetJob("workers-0").settle();
    const replacements = [`${A}#2`, `${B}#2`];
    scene.job("workers-0", { uid: "recreated", outcome: "none" });
    for (const slot of replacements)
      scene.pod(slot, { controller: { kind: "Job", name: "train-workers-0", uid: "recreated" } });
    expect(comeBack(scene, ...replacements).status).toMatchObject({
      deprecatedEpoch: 1,
      syncedEpoch: 2,
      phase: "Running",
    });
  });

  it("also applies when the other Pod succeeds while the group is restarting", () => {
    const scene = fail(runningScene(), B).settle().pod(A, { phase: "Succeeded" }).at(2, B);
    expect(scene.settle().status.history).toMatchObject([{ action: "RecreateJobSet" }]);
    expect(scene.epochs).toBe("1/1");
  });

  it("fails the JobSet when the budget is spent", () => {
    const scene = runningScene(withMaxRestarts(0)).pod(A, { phase: "Succeeded" }).settle();
    expect(fail(scene, B).settle().notices.at(-1)).toMatchObject({ reason: "ReachedMaxRestarts" });
    expect(scene.status.history).toMatchObject([{ action: "FailJobSet", rule: "enforce-budget" }]);
  });

  it.each([
    ["the budget is spent", {}],
    ["JobSet has no recreation left", { annotations: { [ANNOTATION.maxRestarts]: "10" } }],
  ])("does not end the JobSet while a Pod is missing, which may turn out to be disrupted, if %s", (_, change) => {
    const C = "workers-0/2";
    const scene = new Scene({ workers: { pods: 3 } }, { ...withMaxRestarts(0), ...change }).settle().job("workers-0");
    scene.at(1, A, B, C).settle().runs("a", A, B, C).settle().pod(A, { phase: "Succeeded" }).settle();
    fail(scene, B).settle().at(2, B).settle();
    expect(deadline(scene)).toBeUndefined();
    expect(scene.status).toMatchObject({ phase: "Restarting", history: [{ action: "RestartInPlace" }] });
    scene.pod(C, EVICTED).settle().forgetPod(C);
    expect(comeBack(scene, B, `${C}#2`).status).toMatchObject({ syncedEpoch: 2, restarts: 0 });
  });

  it("uses a recreation for an evicted Pod if JobSet has one left", () => {
    const scene = runningScene().pod(A, { phase: "Succeeded" }).settle();
    scene.pod(B, EVICTED).settle();
    expect(scene.status.history).toMatchObject([{ action: "RecreateJobSet", counted: false }]);
  });

  it("restarts in place when an earlier replicatedJob is complete and no Pod of the failed one has succeeded", () => {
    const scene = new Scene({ prepare: { pods: 1 }, workers: { pods: 1 } }).settle().job("prepare-0").job("workers-0");
    scene.at(1, "prepare-0/0", A).settle().runs("a", "prepare-0/0", A).settle();
    scene.job("prepare-0", { outcome: "Complete" }).pod("prepare-0/0", { phase: "Succeeded" }).settle();
    expect(comeBack(fail(scene, A).settle(), A).status.history).toMatchObject([{ action: "RestartInPlace" }]);
  });
});

describe("recreate-after-partial-success, where JobSet has no recreation left,", () => {
  const done = { completedIndexes: [{ first: 0, last: 0 }], succeeded: 1 };
  const partlyDone = () => {
    return runningScene(withMaxRestarts(0)).pod(A, { phase: "Succeeded" }).job("workers-0", done).settle();
  };

  it("restarts the rest in place as long as there is budget, as their Job would retry them without reprise", () => {
    const annotations = { [ANNOTATION.maxRestarts]: "1" };
    const scene = partlyDone().changeJobSet({ annotations });
    expect(comeBack(fail(scene, B).settle(), B).status).toMatchObject({
      syncedEpoch: 2,
      restarts: 1,
      history: [{ cause: { reason: "ContainerExited" }, action: "RestartInPlace", counted: true }],
    });
    expect(deadline(scene)).toBeUndefined();
    expect(fail(scene, B).settle().notices.at(-1)).toMatchObject({ reason: "ReachedMaxRestarts" });
  });

  it("lets an evicted Pod start again on its own, and counts nothing", () => {
    const scene = partlyDone().pod(B, EVICTED).settle();
    expect(comeBack(scene.forgetPod(B), `${B}#2`).status).toMatchObject({
      syncedEpoch: 2,
      restarts: 0,
      history: [{ cause: { reason: "Disruption" }, action: "RestartInPlace" }],
    });
  });

  it("lets the Pod start again on its own when the InPlaceRestart was lost", () => {
    const scene = partlyDone().loseObject().settle();
    expect(deadline(scene)).toBeUndefined();
    expect(comeBack(scene, B).status).toMatchObject({ syncedEpoch: 2, restarts: 0 });
  });

  it("lets the Pod start again on its own after a suspension that no controller has seen", () => {
    const scene = partlyDone().forgetPod(A).forgetPod(B);
    scene.now += 60_000;
    const lastTransitionTime = new Date(scene.now).toISOString();
    const resumed = { type: "Suspended", status: "False", reason: "", message: "", lastTransitionTime } as const;
    scene.changeJobSet({ conditions: [resumed] }).restartController();
    expect(comeBack(scene, `${B}#2`).status).toMatchObject({ syncedEpoch: 2, restarts: 0 });
    expect(deadline(scene)).toBeUndefined();
  });
});
