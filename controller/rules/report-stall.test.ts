import { describe, expect, it } from "vitest";
import { countLookups } from "../testing/count-lookups.ts";
import { A, B } from "../testing/restarts.ts";
import { DELETED, Scene } from "../testing/scene.ts";

const MESSAGE = "0/4 nodes are available";
const UNSCHEDULABLE = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: MESSAGE } as const;

describe("report-stall, at the barrier,", () => {
  it("asks to be woken, and after 60 s names the missing Pods and the reasons", () => {
    const scene = new Scene({ workers: { pods: 3 } }).settle().job("workers-0").at(1, A).settle();
    scene.pod(B, { conditions: [UNSCHEDULABLE] }).settle();
    expect(scene.verdict()).toEqual({ reports: [], wakeAt: scene.now + 60_000 });
    scene.now += 60_000;
    scene.settle();
    const missing = `${B} (Unschedulable: ${MESSAGE}), job train-workers-0 index 2 (no Pod yet)`;
    expect(scene.notices).toEqual([
      {
        type: "Warning",
        reason: "BarrierStalled",
        action: "Wait",
        note: `waiting for epoch 1, 2 missing: ${missing}`,
      },
    ]);
    expect(scene.verdict()).toEqual({ reports: [] });
  });

  it("names five Pods with shortened reasons, in a message that the API server accepts", () => {
    const slots = [0, 1, 2, 3, 4, 5].map((index) => `workers-0/${index}`);
    const scene = new Scene({ workers: { pods: 6 } }).settle().job("workers-0");
    const message = "0/4 nodes are available: 1 node(s) had untolerated taint; ".repeat(6).slice(0, 300);
    for (const slot of slots) scene.pod(slot, { conditions: [{ ...UNSCHEDULABLE, message }] });
    scene.settle();
    scene.now += 60_000;
    const stalled = scene.settle().status.conditions.find(({ type }) => type === "Stalled");
    const first = "Unschedulable: 0/4 nodes are available: 1 node(s) had untolerated taint;";
    const reason = `${first} 0/4 nodes are available: 1 node(s) had...`;
    const named = slots.slice(0, 5).map((slot) => `${slot} (${reason})`);
    expect(stalled).toMatchObject({ status: "True", message: `6 missing: ${named.join(", ")} and 1 more` });
    expect(stalled?.message.length).toBeLessThanOrEqual(1_024);
  });

  it("names an image that cannot be pulled", () => {
    const scene = new Scene({ workers: { pods: 1 } }).settle().job("workers-0");
    const agent = { name: "reprise-agent", init: true, restartCount: 0, started: false, ready: false };
    scene.pod(A, { containers: [{ ...agent, state: { kind: "waiting", reason: "ImagePullBackOff" } }] }).settle();
    scene.now += 60_000;
    expect(scene.settle().notices.at(-1)?.note).toContain("container reprise-agent: ImagePullBackOff");
  });

  it("names a Pod whose kubelet reports no address", () => {
    const scene = new Scene({ workers: { pods: 1 } }).settle().job("workers-0").pod(A, { awaitsAddress: true });
    scene.at(1, A).settle();
    scene.now += 60_000;
    expect(scene.settle().notices.at(-1)?.note).toContain(`${A} (its kubelet has not reported its address)`);
  });

  it("is taken back when the barrier is lifted", () => {
    const scene = new Scene({ workers: { pods: 1 } }).settle().job("workers-0").pod(A).settle();
    scene.now += 60_000;
    scene.settle().at(1, A).settle();
    expect(scene.status.conditions).toContainEqual(expect.objectContaining({ type: "Stalled", status: "False" }));
  });

  it.each([
    ["is in an epoch that has ended", {}, "still at epoch 1"],
    ["has not terminated", { deletion: DELETED }, "terminating on no node"],
  ])("names a Pod of a later stage that %s", (_, change, why) => {
    const [driver, later] = ["driver-0/0", "workers-1/0"];
    const stages = { driver: { pods: 1 }, workers: { replicas: 2, pods: 1 } };
    const scene = new Scene(stages, { startupOrder: "InOrder" }).settle().job("driver-0").at(1, driver).settle();
    scene.runs("a", driver).settle().job("workers-0").job("workers-1").at(1, A, later).settle();
    scene.runs("a", A, later).settle().fails(A, "a").settle();
    // JobSet creates the Job again only when the driver is ready.
    scene.forgetJob("workers-0").forgetPod(A).pod(later, change).at(2, driver).settle();
    scene.now += 60_000;
    expect(scene.settle().notices.at(-1)?.note).toBe(`waiting for epoch 2, 1 missing: ${later} (${why})`);
  });

  it("does not apply to a group without Pods", () => {
    const scene = new Scene({ workers: { replicas: 0, pods: 2 } }).settle();
    scene.now += 60_000;
    expect([scene.settle().notices, scene.verdict()]).toEqual([[], { reports: [] }]);
  });

  it("does not apply while the JobSet is suspended", () => {
    const scene = new Scene({ workers: { pods: 1 } }, { suspended: true }).settle();
    expect(scene.verdict()).toEqual({ reports: [] });
    scene.now += 3_600_000;
    scene.changeJobSet({ suspended: false }).settle();
    expect(scene.verdict().wakeAt).toBe(scene.now + 60_000);
  });

  it("looks at each Pod a constant number of times, not at every Pod for every slot", () => {
    const lookups = (pods: number) => {
      const slots = Array.from({ length: pods }, (_unused, index) => `workers-0/${index}`);
      const scene = new Scene({ workers: { pods: pods + 1 } })
        .settle()
        .job("workers-0")
        .at(1, ...slots)
        .settle();
      scene.now += 60_000;
      const count = countLookups(() => scene.verdict());
      expect(scene.step()).toMatchObject({ kind: "write", notices: [{ reason: "BarrierStalled" }] });
      return count;
    };
    expect(lookups(2_000)).toBeLessThan(11 * lookups(200));
  });
});

describe("report-stall, for a held stage whose Pods do not arrive,", () => {
  const [DRIVER, W0, W1] = ["driver-0/0", "workers-0/0", "workers-0/1"];

  /** The driver runs; the JobSet starts the workers after it. */
  function driverStarts(): Scene {
    const stages = { driver: { pods: 1 }, workers: { pods: 2 } };
    return new Scene(stages, { startupOrder: "InOrder" }).settle().job("driver-0").at(1, DRIVER).settle();
  }

  function workersArrive(scene: Scene): Scene {
    return scene
      .runs("a", DRIVER)
      .settle()
      .job("workers-0")
      .at(1, W0)
      .pod(W1, { conditions: [UNSCHEDULABLE] })
      .settle();
  }

  it("names the missing Pods 60 s after the stage could have started", () => {
    const scene = driverStarts();
    // The driver may take any time to become ready.
    scene.now += 3_600_000;
    workersArrive(scene.settle());
    expect(scene.verdict()).toEqual({ reports: [], wakeAt: scene.now + 60_000 });
    scene.now += 60_000;
    expect(scene.settle().notices).toEqual([
      {
        type: "Warning",
        reason: "StageStalled",
        action: "Wait",
        note: `waiting to start workers, 1 missing: ${W1} (Unschedulable: ${MESSAGE})`,
      },
    ]);
    expect(scene.status.phase).toBe("Running");
    expect(scene.verdict()).toEqual({ reports: [] });
  });

  it("shortens the names of many waiting stages to what a condition can hold", () => {
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

  it("is taken back when the Pods arrive", () => {
    const scene = workersArrive(driverStarts());
    scene.now += 60_000;
    scene.settle().at(1, W1).settle();
    expect(scene.status.heldStages).toEqual([]);
    for (const type of ["StageWaiting", "Stalled"])
      expect(scene.status.conditions).toContainEqual(expect.objectContaining({ type, status: "False" }));
  });

  it("is reported again, at the barrier, if a restart comes in between", () => {
    const scene = workersArrive(driverStarts());
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

  it("measures the wait from the same time after the controller was restarted", () => {
    const scene = workersArrive(driverStarts());
    scene.now += 50_000;
    scene.restartController().settle();
    expect(scene.verdict().wakeAt).toBe(scene.now + 10_000);
  });
});
