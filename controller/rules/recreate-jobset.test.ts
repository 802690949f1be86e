import { describe, expect, it } from "vitest";
import type { Job } from "../../src/api/job.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import { A, B, comeBack, fail, withMaxRestarts } from "../testing/restarts.ts";
import { runningScene, Scene } from "../testing/scene.ts";

describe("recreate-jobset", () => {
  it("reports a stall when JobSet does not recreate the Job, and does not repeat its own write meanwhile", () => {
    const scene = runningScene({ ...withMaxRestarts(20), annotations: { [ANNOTATION.escalateAfter]: "1" } });
    comeBack(fail(scene, A).settle().forgetPod(A), `${A}#2`, B);
    fail(scene, `${A}#2`).settle().at(3, `${A}#2`, B).settle();
    scene.now += 60_000;
    expect(scene.settle().notices.at(-1)).toMatchObject({ reason: "BarrierStalled" });
    expect(scene.verdict()).toEqual({ reports: [] });
  });
});

describe("a Job that JobSet is about to recreate keeps the barrier down, even if the status was lost,", () => {
  const driver = "driver-0/0";
  const lost = (change: Partial<Job>) => {
    const stages = { driver: { pods: 1 }, workers: { pods: 1 } };
    const scene = new Scene(stages, { startupOrder: "InOrder" }).settle().job("driver-0").at(1, driver).settle();
    scene.runs("a", driver).settle().job("workers-0").at(1, A).settle().runs("a", A).settle();
    return scene.job("workers-0", change).loseObject().settle();
  };

  it("when it was told to fail", () => {
    const scene = lost({ activeDeadlineSeconds: 1 }).at(2, driver, A).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.forgetPod(A).forgetJob("workers-0").settle().epochs).toBe("1/2");
  });

  it("when it has failed", () => {
    const scene = lost({ outcome: "Failed" }).forgetPod(A).at(2, driver).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.forgetJob("workers-0").settle().epochs).toBe("1/2");
  });
});
