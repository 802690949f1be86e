import { describe, expect, it } from "vitest";
import { Scene } from "../testing/scene.ts";
import { hasSucceeded } from "./success.ts";

function scene(operator: "All" | "Any", ...targets: readonly string[]): Scene {
  const successPolicy = { operator, targetReplicatedJobs: targets };
  const stages = { prepare: { pods: 1, plain: true }, workers: { replicas: 2, pods: 2 } };
  return new Scene(stages, { successPolicy }).settle().job("prepare-0").job("workers-0").job("workers-1");
}

describe("the success policy", () => {
  it("counts a Job without agents when it is complete, or all of its Pods have succeeded", () => {
    const each = scene("All", "prepare").job("prepare-0", { completions: 2, succeeded: 1 });
    expect(hasSucceeded(each.group)).toBe(false);
    expect(hasSucceeded(each.job("prepare-0", { succeeded: 2 }).group)).toBe(true);
    expect(hasSucceeded(each.job("prepare-0", { succeeded: 1, outcome: "Complete" }).group)).toBe(true);
  });

  it("counts all Jobs of a replicatedJob, also those that JobSet has yet to create", () => {
    const each = scene("All", "workers").job("workers-0", { outcome: "Complete" });
    expect(hasSucceeded(each.group)).toBe(false);
    expect(hasSucceeded(each.job("workers-1", { completedIndexes: [{ first: 0, last: 1 }] }).group)).toBe(true);
    expect(hasSucceeded(each.forgetJob("workers-1").group)).toBe(false);
  });

  it("without targets counts every replicatedJob", () => {
    const each = scene("All").job("workers-0", { outcome: "Complete" }).job("workers-1", { outcome: "Complete" });
    expect(hasSucceeded(each.group)).toBe(false);
    expect(hasSucceeded(each.job("prepare-0", { outcome: "Complete" }).group)).toBe(true);
  });

  it("needs one Job of the targets with the operator Any", () => {
    const each = scene("Any", "workers").job("prepare-0", { outcome: "Complete" });
    expect(hasSucceeded(each.group)).toBe(false);
    expect(hasSucceeded(each.job("workers-1", { outcome: "Complete" }).group)).toBe(true);
  });

  it("is not met by a Job that JobSet recreates", () => {
    const each = scene("Any", "workers").job("workers-1", { completedIndexes: [{ first: 0, last: 1 }] });
    expect(hasSucceeded(each.group)).toBe(true);
    expect(hasSucceeded(each.job("workers-1", { outcome: "Failed" }).group)).toBe(false);
  });

  it("is not met by targets without Jobs", () => {
    const successPolicy = { operator: "All", targetReplicatedJobs: ["gone"] } as const;
    expect(hasSucceeded(new Scene({}, { successPolicy }).group)).toBe(false);
  });
});
