import { describe, expect, it } from "vitest";
import { A, arrive, B, comeBack, fail, failAndRecover, withMaxRestarts } from "../testing/restarts.ts";
import { DELETED, DISRUPTED, runningScene } from "../testing/scene.ts";

const AMPLE = withMaxRestarts(20);

describe("a streak of failures", () => {
  it("belongs to the slot and not to the Pod, and survives a restart of the controller", () => {
    const scene = [A, A].reduce(failAndRecover, runningScene(AMPLE)).restartController();
    scene.runs("run-x", A, B).settle().fails(A, "run-x").settle();
    // The new controller has not seen the run begin, so only the next epoch shows that it ended.
    expect(scene.at(4, A).settle().at(4, B).settle().status.history.at(-1)).toMatchObject({
      action: "RecreatePod",
      streak: { slot: "train-workers-0/0", failures: 3 },
    });
  });

  it("of one slot ends when another slot fails", () => {
    const scene = [A, A, B].reduce(failAndRecover, runningScene(AMPLE));
    expect(fail(scene, A).settle().status.history.at(-1)).toMatchObject({
      action: "RestartInPlace",
      streak: { restarts: 4, failures: 1 },
    });
  });

  it("of one slot neither grows nor ends with a failure that no Pod can be blamed for", () => {
    const scene = [A, A].reduce(failAndRecover, runningScene(AMPLE));
    comeBack(fail(fail(scene, A), B).settle());
    expect(scene.status.history.at(-1)?.streak).toEqual({
      restarts: 3,
      slot: "train-workers-0/0",
      failures: 2,
      unexplained: 1,
    });
    arrive(fail(scene, A).settle()).settle();
    expect(scene.status.history.at(-1)).toMatchObject({ action: "RecreatePod", streak: { failures: 3, restarts: 4 } });
  });

  it("ends after a run that made progress", () => {
    const scene = [A, A].reduce(failAndRecover, runningScene(AMPLE));
    scene.now += 600_000;
    expect(fail(scene, A).settle().status.history.at(-1)).toMatchObject({
      action: "RestartInPlace",
      streak: { restarts: 1, failures: 1 },
    });
  });

  it("neither grows nor ends with a disruption", () => {
    const scene = [A, A].reduce(failAndRecover, runningScene(AMPLE));
    scene
      .pod(B, { deletion: DELETED, conditions: [DISRUPTED] })
      .settle()
      .forgetPod(B);
    comeBack(scene, A, `${B}#2`);
    arrive(fail(scene, A).settle(), A, `${B}#2`).settle();
    expect(scene.status.history.at(-1)).toMatchObject({
      action: "RecreatePod",
      streak: { restarts: 3, failures: 3 },
    });
  });

  it("does not grow when a user deletes a Pod", () => {
    const scene = [A, A].reduce(failAndRecover, runningScene(AMPLE));
    scene.policy = { ...scene.policy, escalateAfter: 2, backoff: { ...scene.policy.backoff, after: 0 } };
    scene.pod(A, { deletion: DELETED }).settle();
    expect(scene.status.history.at(-1)).toMatchObject({ action: "RestartInPlace", streak: { failures: 2 } });
    expect(scene.status.history.at(-1)?.backoffUntil).toBeUndefined();
  });
});
