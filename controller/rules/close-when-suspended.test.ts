import { describe, expect, it } from "vitest";
import { A, B, comeBack } from "../testing/restarts.ts";
import { DELETED, runningScene, Scene } from "../testing/scene.ts";

describe("close-when-suspended", () => {
  it("counts no restart, however often the JobSet is suspended and resumed", () => {
    const scene = runningScene();
    for (let epoch = 2; epoch <= 6; epoch += 1) {
      scene.changeJobSet({ suspended: true }).job("workers-0", { suspended: true });
      scene.pod(A, { deletion: DELETED }).pod(B, { deletion: DELETED }).settle().forgetPod(A).forgetPod(B).settle();
      expect(scene.status).toMatchObject({ phase: "Starting", restarts: 0 });
      scene.changeJobSet({ suspended: false }).job("workers-0", { suspended: false }).settle();
      expect(comeBack(scene).status).toMatchObject({ syncedEpoch: epoch, phase: "Running", restarts: 0, history: [] });
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
