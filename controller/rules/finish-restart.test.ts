import { describe, expect, it } from "vitest";
import { A, B } from "../testing/restarts.ts";
import { runningScene } from "../testing/scene.ts";

describe("finish-restart", () => {
  it("completes the record with the time of every step, and says how long the restart took", () => {
    const scene = runningScene();
    scene.now += 1_000;
    scene.fails(A, "a");
    scene.now += 10;
    scene.settle();
    scene.now += 1_000;
    scene.at(2, A, B).settle();
    scene.now += 900;
    scene.runs("b", A, B).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, deprecatedEpoch: 1, restarts: 1, phase: "Running" });
    expect(scene.status.history).toEqual([
      {
        cause: { reason: "ContainerExited", pod: A, container: "main", exitCode: 1 },
        action: "RestartInPlace",
        rule: "end-epoch",
        streak: { restarts: 1, slot: "train-workers-0/0", failures: 1 },
        fromEpoch: 1,
        toEpoch: 2,
        counted: true,
        failureSeen: "2026-01-01T00:00:11.000Z",
        deprecated: "2026-01-01T00:00:11.010Z",
        allRestarted: "2026-01-01T00:00:12.010Z",
        synced: "2026-01-01T00:00:12.010Z",
        allRunning: "2026-01-01T00:00:12.910Z",
      },
    ]);
    expect(scene.notices.at(-1)).toMatchObject({ type: "Normal", reason: "RestartedInPlace" });
    expect(scene.notices.at(-1)?.note).toContain("1.9 s after the failure was seen");
  });

  it("finishes a restart that the previous controller began", () => {
    const scene = runningScene().fails(A, "a").settle().at(2, A, B).settle().restartController();
    expect(scene.runs("b", A, B).settle().status).toMatchObject({ phase: "Running", restarts: 1 });
    expect(scene.status.history.at(-1)?.allRunning).toBeDefined();
  });
});
