import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { A, B, comeBack, fail, failAndRecover, withMaxRestarts } from "../testing/restarts.ts";
import { DELETED, LEAVING, runningScene, Scene } from "../testing/scene.ts";

function request(text: string) {
  return { annotations: { [ANNOTATION.restartRequest]: text } };
}

describe("restart-on-request", () => {
  it("restarts the whole group in place, uncounted, with the request in the history and in Events", () => {
    const scene = runningScene().changeJobSet(request("loss is NaN (alice)")).settle();
    expect(scene.epochs).toBe("1/1");
    const { status } = comeBack(scene);
    expect(status).toMatchObject({ syncedEpoch: 2, phase: "Running", restarts: 0 });
    expect(status.history).toMatchObject([
      {
        cause: { reason: "Requested", request: "loss is NaN (alice)" },
        action: "RestartInPlace",
        rule: "restart-on-request",
        counted: false,
        fromEpoch: 1,
        toEpoch: 2,
      },
    ]);
    expect(scene.notices.map(({ reason, note }) => `${reason}: ${note}`)).toEqual([
      'RestartingInPlace: a restart was requested: "loss is NaN (alice)"; not counted as a restart',
      "RestartedInPlace: every worker runs again in epoch 2, 0.0 s after the request was seen " +
        '(a restart was requested: "loss is NaN (alice)")',
    ]);
  });

  it("carries out each text once, also when an older one is applied again", () => {
    const scene = comeBack(runningScene().changeJobSet(request("1")).settle());
    scene.changeJobSet({ annotations: {} }).settle().changeJobSet(request("1")).settle();
    expect(scene.epochs).toBe("1/2");
    expect(comeBack(scene.changeJobSet(request("2")).settle()).status.syncedEpoch).toBe(3);
    expect(scene.changeJobSet(request("1")).settle().epochs).toBe("2/3");
    expect(scene.status.handledRequests).toEqual(["1", "2"]);
  });

  it("remembers the last five", () => {
    const scene = runningScene();
    for (const text of ["1", "2", "3", "4", "5", "6"]) comeBack(scene.changeJobSet(request(text)).settle());
    expect(scene.status.handledRequests).toEqual(["2", "3", "4", "5", "6"]);
  });

  it("is not repeated by the next controller", () => {
    const scene = comeBack(runningScene().changeJobSet(request("1")).settle());
    expect(scene.restartController().settle().epochs).toBe("1/2");
  });

  it("does not restart a JobSet that was created with the request", () => {
    const scene = runningScene(request("1"));
    expect(scene.epochs).toBe("0/1");
    expect(scene.status).toMatchObject({ handledRequests: ["1"], history: [] });
    expect(scene.notices).toEqual([]);
  });

  it("does not restart the group once more after its object was lost", () => {
    const scene = comeBack(runningScene().changeJobSet(request("1")).settle());
    scene.loseObject().settle();
    expect(scene.status).toMatchObject({ handledRequests: ["1"], history: [{ cause: { reason: "StateLost" } }] });
    expect(comeBack(scene).status).toMatchObject({ syncedEpoch: 3, restarts: 0 });
  });

  it("needs no budget, and leaves it as it was", () => {
    const scene = comeBack(runningScene(withMaxRestarts(0)).changeJobSet(request("1")).settle());
    expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: 0, phase: "Running" });
  });

  it("neither lengthens nor ends the streak of a slot, and there is no back-off for it", () => {
    const failed = failAndRecover(runningScene(), A);
    const { streak } = failed.status.history[0] ?? {};
    const { history } = comeBack(failed.changeJobSet(request("1")).settle()).status;
    expect(streak).toMatchObject({ restarts: 1 });
    expect(history[1]?.streak).toEqual(streak);
    expect(history[1]).not.toHaveProperty("backoffUntil");
  });

  it("ignores a text that validation rejects", () => {
    expect(runningScene().changeJobSet(request("two\nlines")).settle().epochs).toBe("0/1");
  });
});

describe("restart-on-request, when something else ends the epoch", () => {
  it("leaves the restart to a failure that is known already, which is counted", () => {
    const scene = fail(runningScene(), A).changeJobSet(request("1")).settle();
    const { status } = comeBack(scene);
    expect(status).toMatchObject({ syncedEpoch: 2, restarts: 1, handledRequests: ["1"] });
    expect(status.history).toMatchObject([{ cause: { reason: "ContainerExited" }, counted: true }]);
    expect(scene.notices.map(({ reason }) => reason)).toEqual([
      "RestartingInPlace",
      "RestartRequested",
      "RestartedInPlace",
    ]);
  });

  it("does not blame a worker that fails while the group restarts", () => {
    const scene = fail(runningScene().changeJobSet(request("1")).settle(), A).settle();
    expect(comeBack(scene).status).toMatchObject({
      syncedEpoch: 2,
      restarts: 0,
      history: [{ cause: { reason: "Requested" } }],
    });
  });

  it("waits while a Pod that is going away saves its work, and its replacement answers the request", () => {
    const scene = runningScene().pod(A, { deletion: LEAVING }).changeJobSet(request("1")).settle();
    expect(scene.epochs).toBe("0/1");
    scene.pod(A, { deletion: DELETED }).forgetPod(A).settle();
    expect(comeBack(scene, `${A}#2`, B).status).toMatchObject({ syncedEpoch: 2, handledRequests: ["1"] });
    expect(scene.status.history).toHaveLength(1);
  });

  it("does nothing to a suspended JobSet, and nothing more when it is resumed", () => {
    const scene = runningScene().changeJobSet({ suspended: true }).settle();
    scene.changeJobSet(request("1")).settle().forgetPod(A).forgetPod(B).settle();
    scene.changeJobSet({ suspended: false }).settle();
    expect(comeBack(scene).status).toMatchObject({ syncedEpoch: 2, history: [], handledRequests: ["1"] });
  });

  it("does not restart a JobSet that has completed", () => {
    const scene = runningScene().changeJobSet({ outcome: "Completed" }).settle().changeJobSet(request("1")).settle();
    expect(scene.epochs).toBe("0/1");
  });

  it("says so if no worker has started yet", () => {
    const scene = new Scene().settle().changeJobSet(request("1")).settle();
    expect(scene.epochs).toBe("0/0");
    expect(scene.notices).toMatchObject([{ type: "Normal", reason: "RestartRequested" }]);
    expect(scene.settle().notices).toHaveLength(1);
  });
});
