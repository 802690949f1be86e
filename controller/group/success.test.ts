import { describe, expect, it } from "vitest";
import { DRIVER, driverScene, FIRST, Scene } from "../testing/scene.ts";
import { hasSucceeded } from "./success.ts";

function scene(operator: "All" | "Any", ...targets: readonly string[]): Scene {
  const successPolicy = { operator, targetReplicatedJobs: targets };
  const stages = { prepare: { pods: 1, plain: true }, workers: { replicas: 2, pods: 2 } };
  return new Scene(stages, { successPolicy }).settle().job("prepare-0").job("workers-0").job("workers-1");
}

function succeeded({ group, status }: Scene): boolean {
  return hasSucceeded(group, status);
}

describe("the success policy", () => {
  it("counts a Job without agents when it is complete, or all of its Pods have succeeded", () => {
    const each = scene("All", "prepare").job("prepare-0", { completions: 2, succeeded: 1 });
    expect(succeeded(each)).toBe(false);
    expect(succeeded(each.job("prepare-0", { succeeded: 2 }))).toBe(true);
    expect(succeeded(each.job("prepare-0", { succeeded: 1, outcome: "Complete" }))).toBe(true);
  });

  it("counts all Jobs of a replicatedJob, also those that JobSet has yet to create", () => {
    const each = scene("All", "workers").job("workers-0", { outcome: "Complete" });
    expect(succeeded(each)).toBe(false);
    expect(succeeded(each.job("workers-1", { completedIndexes: [{ first: 0, last: 1 }] }))).toBe(true);
    expect(succeeded(each.forgetJob("workers-1"))).toBe(false);
  });

  it("without targets counts every replicatedJob", () => {
    const each = scene("All").job("workers-0", { outcome: "Complete" }).job("workers-1", { outcome: "Complete" });
    expect(succeeded(each)).toBe(false);
    expect(succeeded(each.job("prepare-0", { outcome: "Complete" }))).toBe(true);
  });

  it("needs one Job of the targets with the operator Any", () => {
    const each = scene("Any", "workers").job("prepare-0", { outcome: "Complete" });
    expect(succeeded(each)).toBe(false);
    expect(succeeded(each.job("workers-1", { outcome: "Complete" }))).toBe(true);
  });

  it("is not met by a Job that JobSet recreates", () => {
    const each = scene("Any", "workers").job("workers-1", { completedIndexes: [{ first: 0, last: 1 }] });
    expect(succeeded(each)).toBe(true);
    expect(succeeded(each.job("workers-1", { outcome: "Failed" }))).toBe(false);
  });

  it("is not met by targets without Jobs", () => {
    const successPolicy = { operator: "All", targetReplicatedJobs: ["gone"] } as const;
    expect(succeeded(new Scene({}, { successPolicy }).settle())).toBe(false);
  });

  it("counts a Pod whose containers have all ended with 0, while its agent still runs and another Pod is lost", () => {
    const each = driverScene({ successPolicy: { operator: "All", targetReplicatedJobs: ["driver"] } });
    expect(succeeded(each.fails(DRIVER, "a", 0))).toBe(false);
    expect(succeeded(each.fails(FIRST, "a"))).toBe(true);
    const containers = each.group.members.get(DRIVER)?.pod.containers ?? [];
    const ended = { kind: "terminated", exitCode: 88, reason: "Error" } as const;
    const stopped = containers.map((container) => (container.init ? { ...container, state: ended } : container));
    expect(succeeded(each.pod(DRIVER, { containers: stopped }))).toBe(false);
  });

  it("does not count a Pod while one of its containers runs", () => {
    const each = driverScene({ successPolicy: { operator: "All", targetReplicatedJobs: ["driver"] } });
    each.fails(FIRST, "a").fails(DRIVER, "a", 0);
    const containers = each.group.members.get(DRIVER)?.pod.containers ?? [];
    const running = { kind: "running" } as const;
    const half = containers.map((container) =>
      container.name === "logger" ? { ...container, state: running } : container,
    );
    expect(succeeded(each.pod(DRIVER, { containers: half }))).toBe(false);
  });
});
