import { describe, expect, it } from "vitest";
import { A, B, comeBack, fail } from "../testing/restarts.ts";
import { DELETED, LEAVING, runningScene, Scene } from "../testing/scene.ts";

describe("close-when-suspended", () => {
  it("counts no restart, however often the JobSet is suspended and resumed", () => {
    const scene = runningScene();
    for (let epoch = 2; epoch <= 6; epoch += 1) {
      scene.changeJobSet({ suspended: true }).job("workers-0", { suspended: true });
      scene.pod(A, { deletion: DELETED }).pod(B, { deletion: DELETED }).settle().forgetPod(A).forgetPod(B).settle();
      expect(scene.status).toMatchObject({ phase: "Starting", restarts: 0 });
      scene.changeJobSet({ suspended: false }).job("workers-0", { suspended: false }).settle();
      expect(comeBack(scene).later().settle().status).toMatchObject({
        syncedEpoch: epoch,
        phase: "Running",
        restarts: 0,
        history: [],
      });
    }
  });

  it("counts no restart when the deletion of the Pods is seen before the suspension", () => {
    const scene = runningScene().pod(A, { deletion: DELETED }).settle();
    expect(scene.status.history).toHaveLength(1);
    scene
      .changeJobSet({ suspended: true })
      .settle()
      .forgetPod(A)
      .forgetPod(B)
      .changeJobSet({ suspended: false })
      .settle();
    expect(comeBack(scene).status).toMatchObject({ syncedEpoch: 2, restarts: 0, history: [] });
  });

  it("counts no restart when the suspension is over before the controller decides", () => {
    const scene = runningScene().changeJobSet({ suspended: true }).pod(A, { deletion: DELETED });
    scene.changeJobSet({ suspended: false }).settle();
    expect(scene.epochs).toBe("1/1");
    expect(comeBack(scene.forgetPod(A)).status).toMatchObject({ syncedEpoch: 2, restarts: 0, history: [] });
  });

  it("counts no restart when the controller was down during the suspension", () => {
    const scene = runningScene();
    const lastTransitionTime = new Date(scene.now + 5_000).toISOString();
    const resumed = { type: "Suspended", status: "False", reason: "", message: "", lastTransitionTime } as const;
    scene
      .changeJobSet({ conditions: [resumed] })
      .pod(A, { deletion: DELETED })
      .restartController()
      .settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodDeleted" }, counted: false }]);
  });

  it("keeps the barrier down while the JobSet is suspended", () => {
    const scene = new Scene({ workers: { pods: 1 } }, { suspended: true }).settle().job("workers-0").at(1, A).settle();
    expect(scene.epochs).toBe("0/0");
    expect(scene.changeJobSet({ suspended: false }).settle().epochs).toBe("0/1");
  });
});

/** JobSet has suspended the Job, and the Job controller deletes the Pods. */
function suspend(scene: Scene): Scene {
  scene.changeJobSet({ suspended: true }).job("workers-0", { suspended: true }).settle();
  return scene.pod(A, { deletion: LEAVING }).pod(B, { deletion: LEAVING }).settle();
}

function resume(scene: Scene): Scene {
  return scene.changeJobSet({ suspended: false }).job("workers-0", { suspended: false }).settle();
}

describe("close-when-suspended, while Pods end", () => {
  it("restarts none of them in place, and closes the epoch when the last one is gone", () => {
    const scene = runningScene().changeJobSet({ suspended: true }).settle();
    expect(scene.epochs).toBe("0/1");
    suspend(scene).forgetPod(A).settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.forgetPod(B).settle()).toMatchObject({ epochs: "1/1", status: { history: [] } });
  });

  it("takes a worker that exits on SIGTERM for no failure, whatever its exit code", () => {
    const scene = fail(suspend(runningScene()), A, 1).settle();
    expect(scene.epochs).toBe("0/1");
    scene.pod(A, { phase: "Failed" }).pod(B, { phase: "Failed" }).settle();
    expect(scene).toMatchObject({ epochs: "1/1", status: { history: [], restarts: 0 } });
  });

  it("continues where another controller was killed", () => {
    const scene = suspend(runningScene()).restartController().settle();
    expect(scene.epochs).toBe("0/1");
    scene.forgetPod(A).restartController().settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.forgetPod(B).settle()).toMatchObject({ epochs: "1/1", status: { history: [] } });
  });
});

describe("close-when-suspended, when the JobSet is resumed", () => {
  it("lets the epoch continue if no Pod was deleted, and counts a failure in it", () => {
    const scene = resume(runningScene().changeJobSet({ suspended: true }).settle());
    expect(scene.epochs).toBe("0/1");
    expect(comeBack(fail(scene, A).settle()).status).toMatchObject({ syncedEpoch: 2, restarts: 1 });
  });

  it("closes the epoch when the Pods that were deleted have ended, and starts the next one without them", () => {
    const scene = resume(suspend(runningScene()));
    expect(scene.epochs).toBe("0/1");
    scene.forgetPod(A).at(2, `${A}#2`).settle();
    expect(scene.epochs).toBe("0/1");
    scene.forgetPod(B).settle();
    expect(scene.epochs).toBe("1/1");
    const { status } = comeBack(scene, `${A}#2`, `${B}#2`);
    expect(status).toMatchObject({ syncedEpoch: 2, restarts: 0, history: [] });
  });

  it("does not start the next epoch beside a Pod that still ends", () => {
    const scene = resume(suspend(runningScene()));
    scene.now = Date.parse(LEAVING.timestamp) + 60_000;
    scene.forgetPod(A).at(2, `${A}#2`, `${B}#2`).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.forgetPod(B).settle().epochs).toBe("1/2");
  });

  it("does not count the failure of a worker that has lost one of these Pods", () => {
    const scene = runningScene().changeJobSet({ suspended: true }).settle().pod(A, { deletion: LEAVING }).settle();
    fail(resume(scene), B).settle();
    expect(scene.epochs).toBe("1/1");
    expect(comeBack(scene.forgetPod(A), `${A}#2`, B).status).toMatchObject({
      syncedEpoch: 2,
      restarts: 0,
      history: [],
    });
  });
});
