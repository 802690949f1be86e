import { describe, expect, it } from "vitest";
import { withMaxRestarts } from "../testing/restarts.ts";
import { DRIVER, driverScene, FIRST, type Scene, SECOND } from "../testing/scene.ts";

const BY_DRIVER = { successPolicy: { operator: "All", targetReplicatedJobs: ["driver"] } } as const;
const BY_ANY = { successPolicy: { operator: "Any", targetReplicatedJobs: [] } } as const;

function succeed(scene: Scene, ...slots: readonly string[]): Scene {
  for (const slot of slots) scene.pod(slot, { phase: "Succeeded" });
  return scene;
}

describe("rest-on-success, when the driver has succeeded,", () => {
  it.each([0, 3])("neither restarts nor fails for peers that crash, with a budget of %i", (budget) => {
    const scene = succeed(driverScene({ ...BY_DRIVER, ...withMaxRestarts(budget) }), DRIVER).settle();
    scene.fails(FIRST, "a").fails(SECOND, "a", 137).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 0, syncedEpoch: 1, restarts: 0, history: [] });
    scene.now += 60_000;
    expect(scene.at(2, FIRST).settle().status).toMatchObject({ syncedEpoch: 1, restarts: 0, history: [] });
    expect(scene.notices).toEqual([]);
  });

  it("leaves a restart that is open as it is: nothing is counted, and no budget fails the JobSet", () => {
    const scene = driverScene({ ...BY_DRIVER, ...withMaxRestarts(1) }).fails(FIRST, "a");
    scene.now += 3_000;
    expect(scene.settle().epochs).toBe("1/1");
    succeed(scene, DRIVER).at(2, FIRST, SECOND).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 1, syncedEpoch: 1, restarts: 0 });
  });

  it("applies as soon as its containers have ended with 0, before the kubelet has stopped its agent", () => {
    const scene = driverScene({ ...BY_DRIVER, ...withMaxRestarts(0) })
      .fails(FIRST, "a")
      .settle();
    scene.now += 1_900;
    scene.fails(DRIVER, "a", 0).settle();
    scene.now += 500;
    expect(scene.settle().status).toMatchObject({ deprecatedEpoch: 0, restarts: 0, history: [] });
    scene.pod(DRIVER, { phase: "Succeeded" }).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 0, history: [] });
  });

  it("continues as usual when JobSet recreates the Jobs all the same", () => {
    const scene = succeed(driverScene(BY_DRIVER), DRIVER).job("driver-0", { outcome: "Complete" }).settle();
    scene.job("driver-0", { deletionTimestamp: "2026-01-01T00:00:00Z" }).job("workers-0", { outcome: "Failed" });
    expect(scene.fails(FIRST, "a").settle().verdict().rule).not.toBe("rest-on-success");
  });

  it("does not apply when the driver is not a target", () => {
    const successPolicy = { operator: "All", targetReplicatedJobs: ["workers"] } as const;
    const scene = succeed(driverScene({ successPolicy }), DRIVER).fails(FIRST, "a").settle();
    expect(scene.epochs).toBe("1/1");
  });
});

describe("rest-on-success", () => {
  it("waits for every Pod of the targets", () => {
    const successPolicy = { operator: "All", targetReplicatedJobs: ["workers"] } as const;
    const scene = succeed(driverScene({ successPolicy }), FIRST).fails(DRIVER, "a").settle();
    scene.now += 3_000;
    expect(scene.verdict().rule).toBe("end-epoch");
    succeed(scene, SECOND).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 0, history: [] });
  });

  it("needs one complete Job with the operator Any", () => {
    const scene = succeed(driverScene(BY_ANY), FIRST, SECOND).fails(DRIVER, "a");
    scene.now += 60_000;
    expect(scene.settle().epochs).toBe("0/1");
  });

  it("does not take a part of a Job for a complete one", () => {
    const scene = succeed(driverScene(BY_ANY), FIRST).fails(DRIVER, "a").fails(SECOND, "a").settle();
    expect(scene.epochs).toBe("1/1");
  });
});
