import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { A, B, comeBack, fail, failAndRecover, withMaxRestarts } from "../testing/restarts.ts";
import { runningScene } from "../testing/scene.ts";

describe("the escalation ladder", () => {
  it("goes from a restart in place to a new Pod to a new JobSet, and starts over until the budget is spent", () => {
    const scene = runningScene(withMaxRestarts(7));
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
    scene.job("workers-0", { uid: "recreated", outcome: "none" });
    const recreated = [`${A}#3`, `${B}#3`];
    for (const slot of recreated)
      scene.pod(slot, { controller: { kind: "Job", name: "train-workers-0", uid: "recreated" } });
    comeBack(scene, ...recreated);
    expect(scene.status.history.map(({ action, counted }) => `${action} ${counted}`)).toEqual([
      "RestartInPlace true",
      "RestartInPlace true",
      "RecreatePod true",
      "RestartInPlace true",
      "RestartInPlace true",
      // JobSet counts its own recreations.
      "RecreateJobSet false",
    ]);
    expect(scene.status.restarts).toBe(5);
    comeBack(fail(scene, `${A}#3`).settle(), ...recreated);
    fail(scene, `${A}#3`)
      .settle()
      .at(scene.status.syncedEpoch + 1, ...recreated)
      .settle();
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
      "RestartingInPlace",
      "ReachedMaxRestarts",
    ]);
  });

  it.each([
    ["0", "RestartInPlace"],
    ["1", "RecreatePod"],
    ["2", "RestartInPlace"],
  ])("with escalate-after %s answers the first failure with %s", (escalateAfter, action) => {
    const scene = runningScene({ ...withMaxRestarts(20), annotations: { [ANNOTATION.escalateAfter]: escalateAfter } });
    expect(fail(scene, A).settle().status.history).toMatchObject([{ action }]);
  });

  it("replaces the Pod once more if JobSet would fail instead of recreating its Jobs", () => {
    const annotations = { [ANNOTATION.maxRestarts]: "9", [ANNOTATION.escalateAfter]: "1" };
    const scene = runningScene({ annotations, ...withMaxRestarts(0) });
    comeBack(fail(scene, A).settle().forgetPod(A), `${A}#2`, B);
    expect(fail(scene, `${A}#2`).settle().status.history.at(-1)).toMatchObject({ action: "RecreatePod" });
  });
});
