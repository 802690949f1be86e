import { describe, expect, it } from "vitest";
import { forecast, podsOf, shapeOf } from "./forecast.ts";

function stage(name: string, parallelism: number, dependsOn: { name: string; status: "Ready" | "Complete" }[] = []) {
  return { name, replicas: 2, parallelism, dependsOn, template: {} };
}

describe("a forecast", () => {
  const shape = shapeOf({ replicatedJobs: [stage("workers", 2)], startupOrder: "AnyOrder" });

  it("has percentiles in order, in the seconds that a restart in place takes", () => {
    const { pods, runs, seconds } = forecast(shape, 10, 1);
    expect({ pods, runs }).toEqual({ pods: 4, runs: 10 });
    expect(seconds.p50).toBeGreaterThan(0.5);
    expect(seconds.p90).toBeGreaterThanOrEqual(seconds.p50);
    expect(seconds.p99).toBeGreaterThanOrEqual(seconds.p90);
    expect(seconds.max).toBeGreaterThanOrEqual(seconds.p99);
    expect(seconds.max).toBeLessThan(20);
  });

  it("is the same for the same seed", () => {
    expect(forecast(shape, 3, 7)).toEqual(forecast(shape, 3, 7));
  });

  it("is longer for stages that start in turn", () => {
    const jobs = [stage("driver", 1), stage("workers", 1)];
    const together = forecast(shapeOf({ replicatedJobs: jobs, startupOrder: "AnyOrder" }), 5, 1);
    const inOrder = forecast(shapeOf({ replicatedJobs: jobs, startupOrder: "InOrder" }), 5, 1);
    expect(inOrder.seconds.p50).toBeGreaterThan(together.seconds.p50);
  });

  it("leaves out a stage that the others wait to complete", () => {
    const train = stage("train", 3, [{ name: "prepare", status: "Complete" }]);
    const both = shapeOf({ replicatedJobs: [stage("prepare", 1), train], startupOrder: "AnyOrder" });
    expect(podsOf(both)).toBe(6);
    expect(both.stages).toEqual([{ name: "train", replicas: 2, parallelism: 3, dependsOn: [] }]);
  });
});
