import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { A, B, comeBack, fail } from "../testing/restarts.ts";
import { runningScene, Scene } from "../testing/scene.ts";

const POLICY = { annotations: { [ANNOTATION.recreateExitCodes]: "60" } };
const FOREIGN = 2_147_483_647;

describe("replace-pod, when an exit code requests a new Pod,", () => {
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

  it("deletes the Pod even if the controller was killed before", () => {
    const scene = fail(runningScene(POLICY), A, 60);
    scene.step();
    expect(scene.restartController().step()).toMatchObject({ kind: "delete-pod", pod: { uid: A } });
  });

  it("keeps the barrier down while the Pod exists, even if it reaches the next epoch", () => {
    const scene = fail(runningScene(POLICY), A, 60);
    scene.step();
    expect(scene.at(2, A, B).step()).toMatchObject({ kind: "delete-pod", pod: { uid: A } });
    expect(scene.settle().epochs).toBe("1/1");
  });

  it("deletes every Pod that requests it in the same epoch", () => {
    const scene = fail(fail(runningScene(POLICY), A, 60), B, 60);
    scene.step();
    expect([scene.step(), scene.step()]).toMatchObject([{ pod: { uid: A } }, { pod: { uid: B } }]);
  });

  it("leaves a Pod that has failed to its Job", () => {
    const scene = fail(runningScene(POLICY), A, 60).pod(A, { phase: "Failed" }).settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodFailed" }, action: "RecreatePod" }]);
    expect(scene.group.members.get(A)?.pod.deletion).toBeUndefined();
  });
});

describe("replace-pod, when a Pod has a foreign epoch,", () => {
  it("leaves the Pod alone while the group runs, and deletes only that Pod at the next restart", () => {
    const scene = runningScene().at(FOREIGN, A).settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.fails(B, "a").settle().epochs).toBe("1/1");
    expect(scene.group.members.get(A)?.pod.deletion).toBeDefined();
    expect(scene.group.members.get(B)?.pod.deletion).toBeUndefined();
    scene.forgetPod(A).at(2, `${A}#2`, B).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: 1 });
  });

  it("deletes the Pod when a stage that may start has stalled because of it", () => {
    const driver = "driver-0/0";
    const stages = { driver: { pods: 1 }, workers: { pods: 1 } };
    const scene = new Scene(stages, { startupOrder: "InOrder" }).settle().job("driver-0").at(1, driver).settle();
    scene.runs("a", driver).settle().job("workers-0").at(9, A).settle();
    scene.now += 60_000;
    expect(scene.step()).toMatchObject({ kind: "write", notices: [{ reason: "StageStalled" }] });
    expect(scene.step()).toEqual({ kind: "delete-pod", pod: { name: A, uid: A } });
    scene.settle().forgetPod(A).at(1, `${A}#2`).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 0, syncedEpoch: 1, heldStages: [], restarts: 0 });
  });

  it("deletes the Pod when the barrier has stalled because its epoch is malformed, and reports it", () => {
    const scene = runningScene().fails(A, "a").settle().at(2, A);
    scene.pod(A, { epoch: { kind: "malformed", text: "x" } });
    expect(scene.at(2, B).settle().epochs).toBe("1/1");
    scene.now += 60_000;
    expect(scene.verdict().reports).toMatchObject([
      { reason: "EpochIgnored", note: 'epoch "x" is not a number written by an agent; the Pod is replaced' },
    ]);
    expect(scene.step()).toMatchObject({ kind: "write", notices: [{ reason: "BarrierStalled" }] });
    expect(scene.step()).toEqual({ kind: "delete-pod", pod: { name: A, uid: A } });
    scene.settle().forgetPod(A).at(2, `${A}#2`).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: 1 });
  });
});
