import { describe, expect, it } from "vitest";
import { A, B, withMaxRestarts } from "../testing/restarts.ts";
import { DELETED, runningScene } from "../testing/scene.ts";

describe("enforce-budget", () => {
  it("fails the JobSet for a deletion beyond the budget only when it is certain that it was no suspension", () => {
    const scene = runningScene(withMaxRestarts(0)).pod(A, { deletion: DELETED }).settle();
    expect(scene.epochs).toBe("1/1");
    scene.forgetPod(A).at(2, B, `${A}#2`);
    expect(scene.verdict().rule).toBe("enforce-budget");
    expect(scene.step()).toMatchObject({ kind: "fail", reason: "ReachedMaxRestarts" });
    expect(scene.status.history).toMatchObject([{ action: "FailJobSet", rule: "enforce-budget" }]);
  });
});
