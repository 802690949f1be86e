import { describe, expect, it } from "vitest";
import { DELETED, LEAVING, Scene } from "../testing/scene.ts";

function slots(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `workers-0/${index}`);
}

const NO_RESTARTS = { failurePolicy: { maxRestarts: 0, restartStrategy: "Recreate" } } as const;

/** A Job with this many Pods, all running in epoch 1. */
function running(pods: number): Scene {
  const scene = new Scene({ workers: { pods } }, NO_RESTARTS).settle().job("workers-0");
  return scene
    .at(1, ...slots(pods))
    .settle()
    .runs("a", ...slots(pods))
    .settle();
}

/** Resizes a running Indexed Job, as a user or an elastic JobSet does. */
function resize(scene: Scene, pods: number): Scene {
  return scene.job("workers-0", { parallelism: pods, completions: pods }).settle();
}

describe("a Job that is scaled down while it runs", () => {
  it("restarts the remaining Pods, and nothing is counted", () => {
    const scene = resize(running(4), 2);
    for (const slot of slots(4).slice(2)) scene.pod(slot, { deletion: DELETED });
    expect(scene.settle().epochs).toBe("1/1");
    for (const slot of slots(4).slice(2)) scene.forgetPod(slot);
    scene.at(2, ...slots(2)).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: 0, ready: "0/2" });
  });

  it("is not counted if the deletion of its Pods is seen first", () => {
    const scene = running(4);
    for (const slot of slots(4).slice(2)) scene.pod(slot, { deletion: DELETED }).settle().forgetPod(slot);
    resize(scene, 2);
    expect(
      scene
        .at(2, ...slots(2))
        .settle()
        .runs("b", ...slots(2))
        .settle().status,
    ).toMatchObject({
      syncedEpoch: 2,
      restarts: 0,
      ready: "2/2",
      phase: "Running",
    });
  });

  it("does not restart again for a Pod that is deleted at the barrier", () => {
    const scene = running(4)
      .fails("workers-0/0", "a")
      .changeJobSet({ failurePolicy: { maxRestarts: 3, restartStrategy: "Recreate" } });
    scene.settle().at(2, "workers-0/3").settle();
    resize(scene, 2).pod("workers-0/3", { deletion: DELETED }).forgetPod("workers-0/2").settle();
    scene
      .forgetPod("workers-0/3")
      .at(2, ...slots(2))
      .settle()
      .runs("b", ...slots(2))
      .settle();
    expect(scene.epochs).toBe("1/2");
  });
});

describe("a Job that is scaled up while it runs", () => {
  it("restarts all Pods into the next epoch, which waits for every new slot, and nothing is counted", () => {
    const scene = resize(running(2), 4).at(2, "workers-0/2", "workers-0/3").settle();
    expect(scene.epochs).toBe("1/1");
    scene.forgetPod("workers-0/0").at(2, "workers-0/1").settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.at(2, "workers-0/0#2").settle().status).toMatchObject({ syncedEpoch: 2, restarts: 0, ready: "0/4" });
  });
});

describe("a Job that is suspended while its JobSet is not", () => {
  it("counts nothing if it is resumed before its Pods are gone", () => {
    const scene = running(2).job("workers-0", { suspended: true }).settle();
    for (const slot of slots(2)) scene.pod(slot, { deletion: LEAVING });
    scene.settle().job("workers-0", { suspended: false }).settle();
    for (const slot of slots(2)) scene.forgetPod(slot);
    expect(scene.settle().status).toMatchObject({ deprecatedEpoch: 1, history: [{ counted: false }] });
  });

  it("ends the epoch without counting a restart", () => {
    const scene = running(2).job("workers-0", { suspended: true }).settle();
    for (const slot of slots(2)) scene.pod(slot, { deletion: DELETED }).settle().forgetPod(slot);
    scene.job("workers-0", { suspended: false }).settle();
    scene.at(2, ...slots(2).map((slot) => `${slot}#2`)).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: 0 });
  });
});
