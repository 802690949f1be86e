import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { A, arrive, B, comeBack, fail, failAndRecover, withMaxRestarts } from "../testing/restarts.ts";
import { runningScene, Scene } from "../testing/scene.ts";

describe("the escalation ladder", () => {
  it("goes from a restart in place to a new Pod to a new JobSet, and starts over until the budget is spent", () => {
    const scene = runningScene(withMaxRestarts(7));
    failAndRecover(failAndRecover(scene, A), A);
    arrive(fail(scene, A).settle()).step();
    expect(scene.step()).toEqual({ kind: "delete-pod", pod: { name: A, uid: A } });
    comeBack(scene.forgetPod(A), `${A}#2`, B);
    for (const _ of [4, 5]) comeBack(fail(scene, `${A}#2`).settle(), `${A}#2`, B);
    arrive(fail(scene, `${A}#2`).settle(), `${A}#2`, B).step();
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
    // Each restart begins in place; the rung is chosen when every Pod is back.
    const rungs = ["RestartingInPlace", "RecreatingPod", "RecreatingJobSet", "ReachedMaxRestarts"];
    expect(scene.notices.map(({ reason }) => reason).filter((reason) => rungs.includes(reason))).toEqual([
      "RestartingInPlace",
      "RestartingInPlace",
      "RestartingInPlace",
      "RecreatingPod",
      "RestartingInPlace",
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
    expect(arrive(fail(scene, A).settle()).settle().status.history).toMatchObject([{ action }]);
  });

  it("replaces the Pod once more if JobSet would fail instead of recreating its Jobs", () => {
    const annotations = { [ANNOTATION.maxRestarts]: "9", [ANNOTATION.escalateAfter]: "1" };
    const scene = runningScene({ annotations, ...withMaxRestarts(0) });
    comeBack(arrive(fail(scene, A).settle()).settle().forgetPod(A), `${A}#2`, B);
    arrive(fail(scene, `${A}#2`).settle(), `${A}#2`, B).settle();
    expect(scene.status.history.at(-1)).toMatchObject({ action: "RecreatePod", target: `${A}#2` });
  });

  it("decides at once in a group of one Pod, which cannot fail because of another", () => {
    const scene = new Scene({ workers: { pods: 1 } }, { annotations: { [ANNOTATION.escalateAfter]: "1" } });
    scene.settle().job("workers-0").at(1, A).settle().runs("a", A).settle();
    expect(scene.fails(A, "a").step()).toMatchObject({ status: { history: [{ action: "RecreatePod", target: A }] } });
  });
});

describe("a group that keeps failing with no Pod to blame", () => {
  const annotations = { [ANNOTATION.escalateAfter]: "2", [ANNOTATION.maxRestarts]: "20" };
  /** All Pods fail at the same time. */
  const failTogether = (scene: Scene) => fail(fail(scene, A), B).settle();

  it("is recreated by JobSet after as many restarts as escalate-after says", () => {
    const scene = runningScene({ ...withMaxRestarts(1), annotations });
    comeBack(failTogether(scene));
    arrive(failTogether(scene)).settle();
    expect(scene.status.history).toMatchObject([
      { action: "RestartInPlace", counted: true, cause: { candidates: [A, B] }, streak: { unexplained: 1 } },
      { action: "RecreateJobSet", counted: false, cause: { candidates: [A, B] }, streak: { unexplained: 2 } },
    ]);
    expect(scene.notices.at(-1)).toMatchObject({
      reason: "RecreatingJobSet",
      note:
        `Pods ${A}, ${B} failed at about the same time with code 1, and it is not known which was the first; ` +
        "2 restarts without progress for which no Pod can be blamed",
    });
  });

  it("gets a new Pod for each one that failed if JobSet has no recreation left", () => {
    const scene = runningScene({ ...withMaxRestarts(0), annotations });
    comeBack(failTogether(scene));
    arrive(failTogether(scene)).step();
    expect(scene.status.history.at(-1)).toMatchObject({ action: "RecreatePod", targets: [A, B], counted: true });
    expect([scene.step(), scene.step()]).toMatchObject([{ pod: { uid: A } }, { pod: { uid: B } }]);
    comeBack(scene.forgetPod(A).forgetPod(B), `${A}#2`, `${B}#2`);
    expect(scene.status).toMatchObject({ restarts: 2, phase: "Running" });
    expect(scene.status.history.at(-1)?.targets).toBeUndefined();
  });

  it("does not climb if escalate-after is 0", () => {
    const scene = runningScene({ annotations: { ...annotations, [ANNOTATION.escalateAfter]: "0" } });
    for (const _ of [1, 2, 3]) comeBack(failTogether(scene));
    expect(scene.status.history.map(({ action }) => action)).toEqual(Array(3).fill("RestartInPlace"));
  });
});
