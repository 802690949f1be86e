import { describe, expect, it } from "vitest";
import { A, B, withMaxRestarts } from "../testing/restarts.ts";
import { runningScene } from "../testing/scene.ts";

describe("fail-on-spent-budget", () => {
  it("tries again when the status was written but the JobSet could not be failed", () => {
    const scene = runningScene(withMaxRestarts(0)).fails(A, "a").fails(B, "a");
    scene.step();
    expect(scene.step()).toMatchObject({ kind: "fail" });
    scene.changeJobSet({ outcome: "none" });
    expect(scene.verdict().rule).toBe("fail-on-spent-budget");
    const message = "the budget of 0 restarts (from failurePolicy.maxRestarts) is spent";
    expect(scene.step()).toMatchObject({ kind: "fail", message });
  });
});
