import { describe, expect, it } from "vitest";
import { withMaxRestarts } from "../testing/restarts.ts";
import { DELETED, DRIVER, driverScene, FIRST, runningScene, Scene, SECOND } from "../testing/scene.ts";

const BY_DRIVER = { successPolicy: { operator: "All", targetReplicatedJobs: ["driver"] } } as const;

describe("hold-for-success, where the driver decides the success of the JobSet,", () => {
  it.each([0, 3])("waits 3 s for the driver's report before a peer's crash has an effect, with budget %i", (budget) => {
    const scene = driverScene({ ...BY_DRIVER, ...withMaxRestarts(budget) }).fails(FIRST, "a");
    expect(scene.settle().verdict()).toEqual({ reports: [], wakeAt: scene.now + 3_000 });
    scene.now += 2_999;
    scene.pod(DRIVER, { phase: "Succeeded" }).settle();
    scene.now += 60_000;
    expect(scene.settle().status).toMatchObject({ deprecatedEpoch: 0, restarts: 0, history: [] });
  });

  it("restarts the group when no report comes, although the Pod restarts in place meanwhile", () => {
    const scene = driverScene(BY_DRIVER).fails(FIRST, "a", 3).settle();
    const waiting = { kind: "waiting", reason: "RestartingAllContainers" } as const;
    scene.worker(FIRST, "", waiting).settle();
    scene.now += 3_000;
    expect(scene.settle().epochs).toBe("1/1");
    expect(scene.status.history).toMatchObject([
      { cause: { reason: "ContainerExited", pod: FIRST, exitCode: 3 }, counted: true },
    ]);
  });

  it("restarts the group when no report comes, although the Pod takes the next epoch before its status changes", () => {
    const scene = driverScene(BY_DRIVER).fails(FIRST, "a", 3).settle();
    scene.pod(FIRST, { epoch: { kind: "present", epoch: 2 } }).settle();
    expect(scene.epochs).toBe("0/1");
    scene.now += 3_000;
    expect(scene.settle().epochs).toBe("1/1");
    expect(scene.status.history).toMatchObject([{ cause: { reason: "ContainerExited", pod: FIRST, exitCode: 3 } }]);
  });

  it("waits 5 s if the driver has no agent, because only its Job shows the success", () => {
    const scene = new Scene({ driver: { pods: 1, plain: true }, workers: { pods: 2 } }, BY_DRIVER).settle();
    scene.job("driver-0").job("workers-0").at(1, FIRST, SECOND).settle().runs("a", FIRST, SECOND).settle();
    expect(scene.fails(FIRST, "a").settle().verdict()).toEqual({ reports: [], wakeAt: scene.now + 5_000 });
    scene.job("driver-0", { succeeded: 1 });
    scene.now += 5_000;
    expect(scene.settle().epochs).toBe("0/1");
  });

  it("waits as long for a peer that restarted although no report has shown its exit", () => {
    const scene = driverScene(BY_DRIVER).restarts(FIRST).settle();
    expect(scene.verdict()).toEqual({ reports: [], wakeAt: scene.now + 3_000 });
    expect(scene.at(2, FIRST).settle().epochs).toBe("0/1");
    scene.now += 3_000;
    expect(scene.settle().epochs).toBe("1/1");
  });

  it("does not start again with every further crash", () => {
    const scene = driverScene(BY_DRIVER).fails(FIRST, "a").settle();
    scene.now += 2_500;
    scene.fails(SECOND, "a").settle();
    scene.now += 500;
    expect(scene.settle().epochs).toBe("1/1");
  });

  it("ends at once when the driver itself fails", () => {
    const scene = driverScene(BY_DRIVER).fails(FIRST, "a").settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.fails(DRIVER, "a").settle().epochs).toBe("1/1");
  });

  it("does not hold a deletion", () => {
    expect(driverScene(BY_DRIVER).pod(FIRST, { deletion: DELETED }).settle().epochs).toBe("1/1");
  });

  it("holds any single crash with the operator Any, and none when every Job has one", () => {
    const successPolicy = { operator: "Any", targetReplicatedJobs: [] } as const;
    const scene = driverScene({ successPolicy }).fails(DRIVER, "a").settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.fails(SECOND, "a").settle().epochs).toBe("1/1");
  });
});

describe("hold-for-success, where every Pod has to succeed,", () => {
  it.each([
    undefined,
    { operator: "All", targetReplicatedJobs: ["driver", "workers"] },
    { operator: "All", targetReplicatedJobs: ["workers"] },
  ] as const)("loses no millisecond with the success policy %j", (successPolicy) => {
    const scene = driverScene(successPolicy === undefined ? {} : { successPolicy });
    expect(scene.fails(FIRST, "a").settle().epochs).toBe("1/1");
  });

  it("loses no millisecond in a group of one replicatedJob with the operator Any", () => {
    const scene = runningScene({ successPolicy: { operator: "Any", targetReplicatedJobs: [] } });
    expect(scene.fails(FIRST, "a").settle().epochs).toBe("1/1");
  });
});
