import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { A, B, withMaxRestarts } from "../testing/restarts.ts";
import { DELETED, runningScene } from "../testing/scene.ts";

const BUDGET_SPENT = withMaxRestarts(0);

describe("a failure beyond the budget is final", () => {
  it("at once if every worker has failed by itself", () => {
    const scene = runningScene(BUDGET_SPENT).fails(A, "a").fails(B, "a").settle();
    expect(scene.status).toMatchObject({ phase: "Failed", history: [{ action: "FailJobSet" }] });
  });

  it("without waiting for the replacement of the Pod that failed", () => {
    const scene = runningScene(BUDGET_SPENT).pod(A, { phase: "Failed" }).settle();
    expect(scene.status.phase).toBe("Restarting");
    expect(scene.at(2, B).settle().status.phase).toBe("Failed");
  });

  it("without replacing a Pod whose exit code asks for it", () => {
    const scene = runningScene({ ...BUDGET_SPENT, annotations: { [ANNOTATION.recreateExitCodes]: "64" } });
    expect(scene.fails(A, "a", 64).step()).toMatchObject({ kind: "write" });
    expect(scene.at(2, A).step()).toBeUndefined();
    expect(scene.at(2, B).settle().status.phase).toBe("Failed");
  });
});

describe("a failure beyond the budget is not final", () => {
  it("while another slot is empty", () => {
    const scene = runningScene(BUDGET_SPENT).fails(A, "a").settle().forgetPod(B).at(2, A).settle();
    expect(scene.status.phase).toBe("Restarting");
  });

  it("while another Pod has not come back", () => {
    const scene = runningScene(BUDGET_SPENT).fails(A, "a").settle().at(2, A).settle();
    expect(scene.status.phase).toBe("Restarting");
  });

  it("while another Pod is terminating", () => {
    const scene = runningScene(BUDGET_SPENT).fails(A, "a").settle().at(2, A, B).pod(B, { deletion: DELETED });
    expect(scene.settle().status.phase).toBe("Restarting");
  });

  it("while only the replacement of the failed Pod is back", () => {
    const scene = runningScene(BUDGET_SPENT).pod(A, { phase: "Failed" }).settle().at(2, `${A}#2`).settle();
    expect(scene.status.phase).toBe("Restarting");
  });
});
