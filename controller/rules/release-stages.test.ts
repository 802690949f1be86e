import { describe, expect, it } from "vitest";
import { Scene } from "../testing/scene.ts";

const ORDER = { driver: { pods: 1 }, workers: { pods: 2 } };
const [DRIVER, W0, W1] = ["driver-0/0", "workers-0/0", "workers-0/1"];

/** The driver runs; JobSet has not created the workers yet. */
function driverRuns(): Scene {
  const scene = new Scene(ORDER, { startupOrder: "InOrder" }).settle().job("driver-0").at(1, DRIVER).settle();
  return scene.runs("a", DRIVER).settle();
}

/** Everything runs in epoch 1. */
function allRun(): Scene {
  return driverRuns().job("workers-0").at(1, W0, W1).settle().runs("a", W0, W1).settle();
}

describe("release-stages: a stage that starts later", () => {
  it("does not delay the first stage", () => {
    const scene = driverRuns();
    expect(scene.epochs).toBe("0/1");
    expect(scene.status).toMatchObject({ heldStages: ["workers"], phase: "Running" });
  });

  it("waits in the running epoch until all of its Pods have arrived, and disturbs no other Pod", () => {
    const scene = driverRuns().job("workers-0").at(1, W0).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 0, syncedEpoch: 1, heldStages: ["workers"] });
    scene.at(1, W1).settle();
    expect(scene.status).toMatchObject({
      deprecatedEpoch: 0,
      syncedEpoch: 1,
      heldStages: [],
      restarts: 0,
      history: [],
    });
  });

  it("may lose Pods while it waits, because none of its workers runs yet", () => {
    const scene = driverRuns().job("workers-0").at(1, W0).pod(W0, { phase: "Failed" }).settle();
    expect(scene.epochs).toBe("0/1");
    scene.at(1, `${W0}#2`, W1).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 0, heldStages: [], history: [] });
  });

  it("waits until the Pods of a deleted Job are gone, so that no two workers of a slot start", () => {
    const scene = driverRuns().job("workers-0").at(1, W0).settle().forgetJob("workers-0");
    scene.job("workers-0", { uid: "again" });
    const successors = [`${W0}#2`, `${W1}#2`];
    const controller = { kind: "Job", name: "train-workers-0", uid: "again" };
    for (const slot of successors) scene.pod(slot, { controller });
    scene.at(1, ...successors).settle();
    expect(scene.status.heldStages).toEqual(["workers"]);
    scene.now += 60_000;
    expect(scene.settle().notices.at(-1)).toMatchObject({
      reason: "StageStalled",
      note: `waiting to start workers, 1 missing: ${W0} (its Job is gone and it still runs: delete it)`,
    });
    expect(scene.forgetPod(W0).settle().status.heldStages).toEqual([]);
  });

  it("makes a restart that is not counted if its Pods took the next epoch", () => {
    const scene = driverRuns().job("workers-0").at(2, W0).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 1, history: [{ cause: { pod: W0 }, counted: false }] });
    scene.at(2, DRIVER, W1).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, heldStages: ["workers"], restarts: 0 });
  });

  it("joins the restart when an earlier stage fails while it arrives", () => {
    const scene = driverRuns().job("workers-0").at(1, W0).fails(DRIVER, "a").settle();
    expect(scene.epochs).toBe("1/1");
    scene.at(2, DRIVER, W0).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.at(2, W1).settle().status).toMatchObject({ syncedEpoch: 2, heldStages: ["workers"], restarts: 1 });
  });
});

describe("release-stages, after a group restart:", () => {
  it("a later stage is held until the one before it is ready in the new epoch", () => {
    const scene = allRun().fails(W0, "a").settle().at(2, DRIVER, W0, W1).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, heldStages: ["workers"] });
    // The driver's readiness before the restart does not count.
    scene.runs("a", DRIVER).settle();
    expect(scene.status.heldStages).toEqual(["workers"]);
    expect(scene.runs("b", DRIVER).settle().status).toMatchObject({ heldStages: [], phase: "Restarting" });
    expect(scene.runs("b", W0, W1).settle().status).toMatchObject({ phase: "Running", restarts: 1 });
  });

  it("a later stage is released even if the sync is seen only after the workers that it started", () => {
    const scene = allRun().fails(W0, "a").settle().at(2, DRIVER, W0, W1);
    const { decision } = scene.verdict();
    scene.runs("b", DRIVER);
    if (decision?.kind !== "write") throw new Error("the barrier should be lifted");
    scene.store({ jobSetUID: "js" }, decision.status);
    expect(scene.settle().status.heldStages).toEqual([]);
  });

  it("a later stage is released even if the controller was restarted", () => {
    const scene = allRun().fails(W0, "a").settle().at(2, DRIVER, W0, W1).settle();
    scene.runs("b", DRIVER).restartController().settle();
    expect(scene.status.heldStages).toEqual([]);
  });

  it("a stage that JobSet recreates first does not wait for the later ones", () => {
    const scene = allRun().job("driver-0", { deletionTimestamp: "2026-01-01T00:00:00Z" });
    scene.job("workers-0", { deletionTimestamp: "2026-01-01T00:00:00Z" }).settle();
    for (const slot of [DRIVER, W0, W1]) scene.forgetPod(slot);
    scene.forgetJob("driver-0").forgetJob("workers-0").settle().job("driver-0").at(2, `${DRIVER}#2`).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, heldStages: ["workers"], restarts: 0 });
  });
});

describe("release-stages: dependsOn", () => {
  const dependsOn = (status: "Ready" | "Complete") => ({
    ...ORDER,
    workers: { pods: 2, dependsOn: [{ name: "driver", status }] },
  });

  it("Complete holds a stage until the other stage has succeeded, not only until it is ready", () => {
    const scene = new Scene(dependsOn("Complete")).settle().job("driver-0").at(1, DRIVER).settle().runs("a", DRIVER);
    scene.job("workers-0").at(1, W0, W1).settle();
    expect(scene.status.heldStages).toEqual(["workers"]);
    expect(scene.pod(DRIVER, { phase: "Succeeded" }).settle().status.heldStages).toEqual([]);
  });

  it.each(["Ready", "Complete"] as const)("%s is met for good when the other stage has succeeded", (status) => {
    const scene = new Scene(dependsOn(status))
      .settle()
      .job("driver-0")
      .at(1, DRIVER)
      .settle()
      .runs("a", DRIVER)
      .settle();
    scene.pod(DRIVER, { phase: "Succeeded" }).job("workers-0").at(1, W0, W1).settle().runs("a", W0, W1).settle();
    scene.fails(W0, "a").settle().at(2, W0, W1).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, heldStages: [], restarts: 1 });
  });

  it("releases independent stages one by one", () => {
    const on = [{ name: "driver", status: "Ready" }] as const;
    const stages = { driver: { pods: 1 }, workers: { pods: 2, dependsOn: on }, evaluators: { pods: 1, dependsOn: on } };
    const scene = new Scene(stages).settle().job("driver-0").at(1, DRIVER).settle().runs("a", DRIVER).settle();
    expect(scene.status.heldStages).toEqual(["workers", "evaluators"]);
    scene.job("workers-0").job("evaluators-0").at(1, "evaluators-0/0").settle();
    expect(scene.status.heldStages).toEqual(["workers"]);
    expect(scene.at(1, W0, W1).settle().status.heldStages).toEqual([]);
  });
});

describe("release-stages: a Job of a later stage that is deleted during a restart", () => {
  const [P0, P1] = ["workers-0/0", "workers-1/0"];

  function restarting(): Scene {
    const stages = { driver: { pods: 1 }, workers: { replicas: 2, pods: 1 } };
    const scene = new Scene(stages, { startupOrder: "InOrder" }).settle().job("driver-0").at(1, DRIVER).settle();
    scene.runs("a", DRIVER).settle().job("workers-0").job("workers-1").at(1, P0, P1).settle();
    return scene.runs("a", P0, P1).settle().fails(P0, "a").settle().forgetJob("workers-0").forgetPod(P0);
  }

  it("does not delay the epoch, because JobSet creates it again only after the epoch has started", () => {
    const scene = restarting().at(2, DRIVER, P1).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, heldStages: ["workers"] });
    scene.runs("b", DRIVER).settle();
    expect(scene.status.heldStages).toEqual(["workers"]);
    expect(scene.job("workers-0").at(2, `${P0}#2`).settle().status.heldStages).toEqual([]);
  });

  it("does not keep the barrier from waiting for the other Pods of its stage, which may still run", () => {
    const scene = restarting().at(2, DRIVER).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.at(2, P1).settle().epochs).toBe("1/2");
  });
});

describe("release-stages: a JobSet that is resumed in order", () => {
  it("does not wait for stages whose Jobs are still suspended", () => {
    const scene = allRun().changeJobSet({ suspended: true });
    scene.job("driver-0", { suspended: true }).job("workers-0", { suspended: true }).settle();
    for (const slot of [DRIVER, W0, W1]) scene.forgetPod(slot);
    scene.changeJobSet({ suspended: false }).job("driver-0", { suspended: false }).at(2, `${DRIVER}#2`).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, heldStages: ["workers"], restarts: 0, history: [] });
  });

  it("waits until the Pods of a suspended stage are really gone", () => {
    const scene = allRun().changeJobSet({ suspended: true });
    scene.job("driver-0", { suspended: true }).job("workers-0", { suspended: true }).settle().forgetPod(DRIVER);
    // Longer than a Job takes to delete its Pods.
    scene.now += 30_000;
    scene.changeJobSet({ suspended: false }).job("driver-0", { suspended: false }).at(2, `${DRIVER}#2`).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.forgetPod(W0).forgetPod(W1).settle().epochs).toBe("1/2");
  });
});
