import { describe, expect, it } from "vitest";
import { A, B, comeBack, fail, failAndRecover, withMaxRestarts } from "../testing/restarts.ts";
import { DELETED, DISRUPTED, runningScene, type Scene } from "../testing/scene.ts";

/** A worker fails, and no restart is left. */
function failedBeyondBudget(): Scene {
  return fail(runningScene(withMaxRestarts(0)), A).settle();
}

describe("enforce-budget", () => {
  it("fails the JobSet when every Pod is back at the barrier", () => {
    const scene = fail(failAndRecover(runningScene(withMaxRestarts(1)), A), B).settle();
    expect(scene.at(3, B).step()).toBeUndefined();
    scene.at(3, A);
    expect(scene.verdict().rule).toBe("enforce-budget");
    expect(scene.step()).toMatchObject({ kind: "fail", reason: "ReachedMaxRestarts" });
    expect(scene.settle().status).toMatchObject({ syncedEpoch: 2, restarts: 1, phase: "Failed" });
    expect(scene.status.history.at(-1)).toMatchObject({ action: "FailJobSet", rule: "enforce-budget" });
    expect(scene.notices.at(-1)).toMatchObject({ type: "Warning", reason: "ReachedMaxRestarts" });
  });

  it("fails the JobSet for a deletion beyond the budget only when it is certain that it was no suspension", () => {
    const scene = runningScene(withMaxRestarts(0)).pod(A, { deletion: DELETED }).settle();
    expect(scene.epochs).toBe("1/1");
    scene.forgetPod(A).at(2, B, `${A}#2`);
    expect(scene.verdict().rule).toBe("enforce-budget");
    expect(scene.step()).toMatchObject({ kind: "fail", reason: "ReachedMaxRestarts" });
    expect(scene.status.history).toMatchObject([{ action: "FailJobSet", rule: "enforce-budget" }]);
  });

  it("does not fail the JobSet while a Pod is missing, and not at all if that Pod turns out to be disrupted", () => {
    const scene = failedBeyondBudget().at(2, A).settle();
    scene.now += 50_000;
    expect(scene.settle().status.phase).toBe("Restarting");
    scene
      .pod(B, { deletion: DELETED, conditions: [DISRUPTED] })
      .settle()
      .forgetPod(B);
    expect(comeBack(scene, A, `${B}#2`).status).toMatchObject({ syncedEpoch: 2, restarts: 0, phase: "Running" });
  });

  it("fails the JobSet if the missing Pod comes back without a disruption", () => {
    const scene = failedBeyondBudget().at(2, A).settle();
    expect(scene.at(2, B).settle().status.phase).toBe("Failed");
  });
});
