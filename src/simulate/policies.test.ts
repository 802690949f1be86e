// Runs of a driver and its workers under the JobSet's own policies, judged by policy-judge.ts.
import { describe, expect, it } from "vitest";
import type { FailureRule } from "../api/jobset.ts";
import { Cluster } from "./cluster.ts";
import { randomFaults } from "./faults/catalog.ts";
import type { PodOnNode } from "./kubelet.ts";
import type { PolicyShape } from "./policies.ts";
import { JOB_SET, type JobSetShape } from "./shape.ts";
import { simulate } from "./simulate.ts";
import { timelineLines } from "./timeline.ts";

const BY_DRIVER: PolicyShape = { successPolicy: { operator: "All", targetReplicatedJobs: ["driver"] } };
const SEEDS = Array.from({ length: 40 }, (_, seed) => seed);
/** Every group runs by then. */
const SETTLED_MS = 20_000;

function shapeOf(policies: PolicyShape, maxRestarts = 1_000): JobSetShape {
  const stage = (name: string, parallelism: number) => ({ name, replicas: 1, parallelism, dependsOn: [] });
  return { stages: [stage("driver", 1), stage("workers", 3)], inOrder: false, maxRestarts, policies };
}

function rule(change: Partial<FailureRule>): FailureRule {
  return {
    name: "rule",
    action: "FailJobSet",
    targetReplicatedJobs: [],
    onJobFailureReasons: [],
    onJobFailureMessagePatterns: [],
    ...change,
  };
}

/** Runs until the group is settled, lets something happen, and continues. Fails with the timeline of the run. */
function play(seed: number, shape: JobSetShape, happen: (cluster: Cluster) => void) {
  const cluster = new Cluster(seed, shape);
  const { schedule, judge, api, moments } = cluster.world;
  schedule.after(SETTLED_MS + ((seed * 37) % 1_000), () => happen(cluster));
  schedule.runUntil(SETTLED_MS + 60_000, () => judge.breaches.length > 0);
  if (judge.breaches.length > 0) {
    throw new Error(`seed ${seed}: ${judge.breaches.join("; ")}\n${timelineLines(moments).join("\n")}`);
  }
  const { outcome } = cluster.jobSets.jobSet ?? {};
  return { outcome, restarts: api.get("object", JOB_SET)?.status?.restarts };
}

function podsOf({ nodes }: Cluster, stage: string): readonly PodOnNode[] {
  return nodes.pods.filter(({ name }) => name.startsWith(`${JOB_SET}-${stage}-`));
}

/** The driver is done and leaves, and its peers lose their connection. */
function driverLeaves(cluster: Cluster): void {
  for (const pod of podsOf(cluster, "driver")) pod.endWorker(0);
  cluster.world.after(0, 50, () => {
    for (const pod of podsOf(cluster, "workers")) pod.endWorker(1);
  });
}

describe("a driver that succeeds while its peers crash", () => {
  it("completes the JobSet, and no restart is counted", () => {
    for (const seed of SEEDS)
      expect({ seed, ...play(seed, shapeOf(BY_DRIVER), driverLeaves) }).toMatchObject({
        outcome: "Completed",
        restarts: 0,
      });
  });

  it("completes the JobSet without a budget, unless a kubelet takes longer than 2 s to report the success", () => {
    const results = SEEDS.map((seed) => play(seed, shapeOf(BY_DRIVER, 0), driverLeaves));
    const completed = results.filter(({ outcome }) => outcome === "Completed");
    // The simulated kubelets take up to 5 s for one report in seven.
    expect(completed.length).toBeGreaterThanOrEqual(SEEDS.length * 0.8);
  });
});

describe("a rule of failurePolicy", () => {
  const final = { rules: [rule({ targetReplicatedJobs: ["driver"] })], backoffLimits: { driver: 0 } };
  const exempt = {
    rules: [rule({ action: "RestartJobSetAndIgnoreMaxRestarts", targetReplicatedJobs: ["workers"] })],
  };
  const crash = (stage: string) => (cluster: Cluster) => podsOf(cluster, stage)[0]?.endWorker(1);

  it("that fails the JobSet is obeyed when its target crashes, and not when another Pod does", () => {
    for (const seed of SEEDS) {
      expect({ seed, ...play(seed, shapeOf(final), crash("workers")) }).toMatchObject({ outcome: "none", restarts: 1 });
    }
    // Also if its kubelet reports nothing but the restart.
    for (const seed of SEEDS)
      expect({ seed, ...play(seed, shapeOf(final), crash("driver")) }).toMatchObject({
        outcome: "Failed",
        restarts: 0,
      });
  });

  it("that fails the JobSet is obeyed when its target crashes with its peers, unless a kubelet takes over 2 s", () => {
    const together = (cluster: Cluster) => {
      for (const pod of cluster.nodes.pods) cluster.world.after(0, 50, () => pod.endWorker(1));
    };
    const failed = SEEDS.filter((seed) => play(seed, shapeOf(final), together).outcome === "Failed");
    // The simulated kubelets take up to 5 s for one report in seven.
    expect(failed.length).toBeGreaterThanOrEqual(SEEDS.length * 0.8);
  });

  it("that ignores maxRestarts is obeyed: nothing is counted, also without a budget", () => {
    for (const seed of SEEDS) {
      expect({ seed, ...play(seed, shapeOf(exempt, 0), crash("workers")) }).toMatchObject({
        outcome: "none",
        restarts: 0,
      });
    }
  });

  it.each([
    ["fails the JobSet", final],
    ["ignores maxRestarts", exempt],
    ["is not there, and the driver decides the success", BY_DRIVER],
  ])("that %s is obeyed with any combination of faults (50 seeds)", (_, policies) => {
    for (let seed = 0; seed < 50; seed += 1) {
      const result = simulate({ seed, shape: shapeOf(policies), faults: randomFaults(seed, 5) });
      if (result.breaches.length === 0) continue;
      throw new Error(`seed ${seed}: ${result.breaches.join("; ")}\n${timelineLines(result.moments).join("\n")}`);
    }
  });
});
