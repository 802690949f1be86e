import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { A, B, comeBack, fail, failAndRecover, withMaxRestarts } from "../testing/restarts.ts";
import { DELETED, DISRUPTED, runningScene, Scene } from "../testing/scene.ts";

describe("end-epoch, when a worker fails", () => {
  it("restarts the group at once, before the failed Pod is back", () => {
    const scene = runningScene().fails(A, "a", 3).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.status).toMatchObject({ phase: "Restarting", restarts: 0 });
    expect(scene.status.history).toMatchObject([
      { cause: { reason: "ContainerExited", pod: A, container: "main", exitCode: 3 }, fromEpoch: 1, counted: true },
    ]);
    expect(scene.notices.map(({ reason, note }) => `${reason}: ${note}`)).toEqual([
      `RestartingInPlace: Pod ${A}: container main exited with code 3; restart 1 of 3 (from failurePolicy.maxRestarts)`,
    ]);
  });

  it("says only at the first restart where the budget comes from", () => {
    const scene = fail(failAndRecover(runningScene(), A), B).settle();
    const notes = scene.notices.filter(({ reason }) => reason === "RestartingInPlace").map(({ note }) => note);
    expect(notes).toEqual([
      expect.stringMatching(/; restart 1 of 3 \(from failurePolicy\.maxRestarts\)$/),
      expect.stringMatching(/; restart 2 of 3$/),
    ]);
  });

  it("makes one restart of two failures at the same moment", () => {
    const scene = runningScene().fails(A, "a").fails(B, "a").settle();
    expect(comeBack(scene).status).toMatchObject({ syncedEpoch: 2, restarts: 1 });
  });

  it("restarts the group again when a worker fails in the next epoch", () => {
    const scene = fail(failAndRecover(runningScene(), A), B).settle();
    expect(scene.epochs).toBe("2/2");
    expect(scene.status.history).toHaveLength(2);
  });

  it("does not restart the group when a worker exits with 0", () => {
    expect(runningScene().fails(A, "a", 0).settle().epochs).toBe("0/1");
  });

  it("does not restart the group when the container is not a worker", () => {
    const scene = runningScene();
    const [main, logger] = scene.group.members.get(A)?.pod.containers ?? [];
    if (main === undefined || logger === undefined) throw new Error("a Pod of the scene has two containers");
    scene.pod(A, { containers: [main, { ...logger, state: { kind: "terminated", exitCode: 1, reason: "Error" } }] });
    expect(scene.settle().epochs).toBe("0/1");
  });
});

describe("end-epoch, when a Pod is lost", () => {
  it.each([
    ["has failed", { phase: "Failed" }, "PodFailed", true],
    ["was deleted, and its grace period is over", { deletion: DELETED }, "PodDeleted", true],
    ["was evicted, and its grace period is over", { deletion: DELETED, conditions: [DISRUPTED] }, "Disruption", false],
    ["has failed by preemption", { phase: "Failed", conditions: [DISRUPTED] }, "Disruption", false],
  ] as const)("restarts the other Pods early because it %s", (_, change, reason, counted) => {
    const scene = runningScene().pod(A, change).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.status.history).toMatchObject([{ cause: { reason, pod: A }, counted }]);
    scene.forgetPod(A).at(2, B, `${A}#2`).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: counted ? 1 : 0 });
  });

  it("restarts the other Pods early when it disappears without an event that shows why", () => {
    const scene = runningScene().forgetPod(A).settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodDeleted", pod: A }, counted: true }]);
    expect(scene.epochs).toBe("1/1");
  });

  it("waits for its replacement without a restart if no epoch runs yet", () => {
    const scene = new Scene().settle().job("workers-0").at(1, A, B).pod(A, { deletion: DELETED }).settle();
    expect(scene.forgetPod(A).settle().epochs).toBe("0/0");
    expect(scene.at(1, `${A}#2`).settle().status).toMatchObject({ syncedEpoch: 1, restarts: 0, history: [] });
  });
});

describe("end-epoch, when the budget is spent", () => {
  it("restarts the group at the next failure, and leaves the decision to enforce-budget", () => {
    const scene = fail(failAndRecover(runningScene(withMaxRestarts(1)), A), B);
    expect(scene.step()).toMatchObject({ kind: "write", status: { deprecatedEpoch: 2, phase: "Restarting" } });
    expect(scene.notices.at(-1)).toMatchObject({
      reason: "RestartingInPlace",
      note: [
        `Pod ${B}: container main exited with code 1; the budget of 1 restart `,
        "(from failurePolicy.maxRestarts) is spent, so the JobSet fails unless a disruption turns out to be the cause",
      ].join(""),
    });
  });

  it("still restarts the group after a disruption, which the budget does not pay for", () => {
    const scene = runningScene(withMaxRestarts(0))
      .pod(A, { deletion: DELETED, conditions: [DISRUPTED] })
      .settle();
    expect(scene.forgetPod(A).at(2, B, `${A}#2`).settle().status).toMatchObject({ syncedEpoch: 2, restarts: 0 });
  });

  it("restarts the group if the budget was raised in time", () => {
    const annotations = { [ANNOTATION.maxRestarts]: "1" };
    const scene = runningScene(withMaxRestarts(0)).changeJobSet({ annotations });
    expect(scene.fails(A, "a").step()).toMatchObject({ kind: "write", status: { phase: "Restarting" } });
  });
});
