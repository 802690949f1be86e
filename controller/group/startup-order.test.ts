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

describe("a stage that starts later", () => {
  it("does not keep the first from starting", () => {
    const scene = driverRuns();
    expect(scene.epochs).toBe("0/1");
    expect(scene.status).toMatchObject({ heldStages: ["workers"], phase: "Running" });
  });

  it("waits in the running epoch until all of its Pods are there, and disturbs nobody", () => {
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

  it("may lose Pods while it waits: nothing of theirs runs yet", () => {
    const scene = driverRuns().job("workers-0").at(1, W0).pod(W0, { phase: "Failed" }).settle();
    expect(scene.epochs).toBe("0/1");
    scene.at(1, `${W0}#2`, W1).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 0, heldStages: [], history: [] });
  });

  it("and whose Pods took the next epoch makes a restart that is not counted", () => {
    const scene = driverRuns().job("workers-0").at(2, W0).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 1, history: [{ cause: { pod: W0 }, counted: false }] });
    scene.at(2, DRIVER, W1).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, heldStages: ["workers"], restarts: 0 });
  });

  it("while another fails joins the restart", () => {
    const scene = driverRuns().job("workers-0").at(1, W0).fails(DRIVER, "a").settle();
    expect(scene.epochs).toBe("1/1");
    scene.at(2, DRIVER, W0).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.at(2, W1).settle().status).toMatchObject({ syncedEpoch: 2, heldStages: ["workers"], restarts: 1 });
  });
});

describe("after a group restart", () => {
  it("a later stage is held until the one before it is ready in the new epoch", () => {
    const scene = allRun().fails(W0, "a").settle().at(2, DRIVER, W0, W1).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, heldStages: ["workers"] });
    // What the driver showed before the restart does not count.
    scene.runs("a", DRIVER).settle();
    expect(scene.status.heldStages).toEqual(["workers"]);
    expect(scene.runs("b", DRIVER).settle().status).toMatchObject({ heldStages: [], phase: "Restarting" });
    expect(scene.runs("b", W0, W1).settle().status).toMatchObject({ phase: "Running", restarts: 1 });
  });

  it("a later stage is let go even when the sync is seen only after the workers it started", () => {
    const scene = allRun().fails(W0, "a").settle().at(2, DRIVER, W0, W1);
    const { decision } = scene.verdict();
    scene.runs("b", DRIVER);
    if (decision?.kind !== "write") throw new Error("the barrier is to be lifted");
    scene.store({ jobSetUID: "js" }, decision.status);
    expect(scene.settle().status.heldStages).toEqual([]);
  });

  it("a controller that is killed still lets the later stage go", () => {
    const scene = allRun().fails(W0, "a").settle().at(2, DRIVER, W0, W1).settle();
    scene.runs("b", DRIVER).restartController().settle();
    expect(scene.status.heldStages).toEqual([]);
  });

  it("stages that JobSet recreates in their order do not wait for each other", () => {
    const scene = allRun().job("driver-0", { deletionTimestamp: "2026-01-01T00:00:00Z" });
    scene.job("workers-0", { deletionTimestamp: "2026-01-01T00:00:00Z" }).settle();
    for (const slot of [DRIVER, W0, W1]) scene.forgetPod(slot);
    scene.forgetJob("driver-0").forgetJob("workers-0").settle().job("driver-0").at(2, `${DRIVER}#2`).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, heldStages: ["workers"], restarts: 0 });
  });
});

describe("dependsOn", () => {
  const dependsOn = (status: "Ready" | "Complete") => ({
    ...ORDER,
    workers: { pods: 2, dependsOn: [{ name: "driver", status }] },
  });

  it("Complete holds a stage until the other has succeeded, not merely until it is ready", () => {
    const scene = new Scene(dependsOn("Complete")).settle().job("driver-0").at(1, DRIVER).settle().runs("a", DRIVER);
    scene.job("workers-0").at(1, W0, W1).settle();
    expect(scene.status.heldStages).toEqual(["workers"]);
    expect(scene.pod(DRIVER, { phase: "Succeeded" }).settle().status.heldStages).toEqual([]);
  });

  it.each(["Ready", "Complete"] as const)("%s is met for good when the other has succeeded", (status) => {
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

  it("lets independent stages go one by one", () => {
    const on = [{ name: "driver", status: "Ready" }] as const;
    const stages = { driver: { pods: 1 }, workers: { pods: 2, dependsOn: on }, evaluators: { pods: 1, dependsOn: on } };
    const scene = new Scene(stages).settle().job("driver-0").at(1, DRIVER).settle().runs("a", DRIVER).settle();
    expect(scene.status.heldStages).toEqual(["workers", "evaluators"]);
    scene.job("workers-0").job("evaluators-0").at(1, "evaluators-0/0").settle();
    expect(scene.status.heldStages).toEqual(["workers"]);
    expect(scene.at(1, W0, W1).settle().status.heldStages).toEqual([]);
  });
});

describe("a Job of a later stage that is deleted during a restart", () => {
  const [P0, P1] = ["workers-0/0", "workers-1/0"];

  function restarting(): Scene {
    const stages = { driver: { pods: 1 }, workers: { replicas: 2, pods: 1 } };
    const scene = new Scene(stages, { startupOrder: "InOrder" }).settle().job("driver-0").at(1, DRIVER).settle();
    scene.runs("a", DRIVER).settle().job("workers-0").job("workers-1").at(1, P0, P1).settle();
    return scene.runs("a", P0, P1).settle().fails(P0, "a").settle().forgetJob("workers-0").forgetPod(P0);
  }

  it("is not waited for: JobSet makes it anew when the stages before it are ready, which the epoch has to begin for", () => {
    const scene = restarting().at(2, DRIVER, P1).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, heldStages: ["workers"] });
    scene.runs("b", DRIVER).settle();
    expect(scene.status.heldStages).toEqual(["workers"]);
    expect(scene.job("workers-0").at(2, `${P0}#2`).settle().status.heldStages).toEqual([]);
  });

  it("leaves the others of its stage to be waited for: they may still run in the last epoch", () => {
    const scene = restarting().at(2, DRIVER).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.at(2, P1).settle().epochs).toBe("1/2");
  });
});

describe("a resumption in order", () => {
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
    scene.changeJobSet({ suspended: false }).job("driver-0", { suspended: false }).at(2, `${DRIVER}#2`).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.forgetPod(W0).forgetPod(W1).settle().epochs).toBe("1/2");
  });
});

describe("a held stage that never fills", () => {
  const message = "0/4 nodes are available";
  const unschedulable = { type: "PodScheduled", status: "False", reason: "Unschedulable", message } as const;

  function workersCome(): Scene {
    return driverRuns()
      .job("workers-0")
      .at(1, W0)
      .pod(W1, { conditions: [unschedulable] })
      .settle();
  }

  it("is reported 60 s after its turn came, with who is missing and why", () => {
    const scene = new Scene(ORDER, { startupOrder: "InOrder" }).settle().job("driver-0").at(1, DRIVER).settle();
    // The driver may take as long as it likes to become ready.
    scene.now += 3_600_000;
    scene
      .settle()
      .runs("a", DRIVER)
      .job("workers-0")
      .at(1, W0)
      .pod(W1, { conditions: [unschedulable] })
      .settle();
    expect(scene.verdict()).toEqual({ reports: [], wakeAt: scene.now + 60_000 });
    scene.now += 60_000;
    expect(scene.settle().notices).toEqual([
      {
        type: "Warning",
        reason: "StageStalled",
        action: "Wait",
        note: `waiting to start workers, 1 missing: ${W1} (Unschedulable: ${message})`,
      },
    ]);
    expect(scene.status.phase).toBe("Running");
    expect(scene.verdict()).toEqual({ reports: [] });
  });

  it("is one of many: their names are cut to what a condition may hold", () => {
    const late = Array.from({ length: 20 }, (_, index) => `${"evaluators".repeat(6)}${index}`);
    const dependsOn = [{ name: "driver", status: "Ready" }] as const;
    const stages = Object.fromEntries(late.map((name) => [name, { pods: 1, dependsOn }]));
    const scene = new Scene({ driver: { pods: 1 }, ...stages }).settle().job("driver-0").at(1, DRIVER).settle();
    const waiting = scene
      .runs("a", DRIVER)
      .settle()
      .status.conditions.find(({ type }) => type === "StageWaiting");
    expect(waiting).toMatchObject({ status: "True", message: expect.stringMatching(/, evaluators.*\.\.\.$/) });
    expect(waiting?.message.length).toBeLessThanOrEqual(1_024);
  });

  it("is no longer stalled once its Pods are there", () => {
    const scene = workersCome();
    scene.now += 60_000;
    scene.settle().at(1, W1).settle();
    expect(scene.status.heldStages).toEqual([]);
    for (const type of ["StageWaiting", "Stalled"])
      expect(scene.status.conditions).toContainEqual(expect.objectContaining({ type, status: "False" }));
  });

  it("and is then overtaken by a restart is reported anew, at the barrier", () => {
    const scene = workersCome();
    scene.now += 60_000;
    scene.settle().fails(DRIVER, "a").settle();
    expect(scene.status.conditions).toContainEqual(expect.objectContaining({ type: "Stalled", status: "False" }));
    scene.now += 60_000;
    expect(scene.settle().notices.map(({ reason }) => reason)).toEqual([
      "StageStalled",
      "RestartingInPlace",
      "BarrierStalled",
    ]);
  });

  it("is measured from when its turn came, also by the next controller", () => {
    const scene = workersCome();
    scene.now += 50_000;
    scene.restartController().settle();
    expect(scene.verdict().wakeAt).toBe(scene.now + 10_000);
  });
});
