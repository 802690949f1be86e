// The account that the controller keeps of a group's time, compared with the simulator's own: what the judge sees.
import { describe, expect, it } from "vitest";
import { TIMED_STATES, type TimedState, timeSpent } from "../api/availability.ts";
import { availabilityFigures } from "../api/availability-figures.ts";
import { Cluster } from "./cluster.ts";
import { FAULTS, type FaultKind } from "./faults/catalog.ts";
import { JOB_SET, type JobSetShape } from "./shape.ts";

const SHAPE: JobSetShape = {
  stages: [{ name: "workers", replicas: 1, parallelism: 4, dependsOn: [] }],
  inOrder: false,
  maxRestarts: 100,
};

/**
 * Faults are far apart: a group that fails all the time is mostly held by its back-off. The workers of a lost node are
 * dead up to 40 s before the controller can know, which is the largest error of the account.
 */
const INTERVAL_MS = 1_200_000;

/** The true time in each state, and what the account says at the end. */
function play(seed: number, kinds: readonly FaultKind[]) {
  const cluster = new Cluster(seed, SHAPE);
  const { world, jobSets } = cluster;
  for (const [index, kind] of kinds.entries()) {
    world.schedule.after((index + 1) * INTERVAL_MS, () => FAULTS[kind].strike(cluster));
  }
  const truth: Record<TimedState, number> = { Waiting: 0, Running: 0, Restarting: 0, Suspended: 0 };
  let [state, at]: [TimedState, number] = ["Waiting", 0];
  /** The epoch of the last suspension. Its Pods may outlive the suspension, but the next ones are new. */
  let suspendedEpoch = 0;
  let restarts = 0;
  const look = (): boolean => {
    const { now } = world.schedule;
    truth[state] += now - at;
    at = now;
    const { running } = world.judge;
    const epoch = Math.max(0, ...running.map((worker) => worker.epoch));
    const isSuspended = jobSets.jobSet?.suspended === true;
    if (isSuspended) suspendedEpoch = Math.max(epoch, suspendedEpoch);
    if (epoch > suspendedEpoch && running.length === jobSets.slots) suspendedEpoch = 0;
    if (isSuspended) state = "Suspended";
    else if (running.length === jobSets.slots) state = "Running";
    else if (suspendedEpoch > 0) state = "Waiting";
    else if (state === "Running") {
      state = "Restarting";
      restarts += 1;
    }
    return false;
  };
  const end = (kinds.length + 1) * INTERVAL_MS;
  world.schedule.runUntil(end, look);
  look();
  const availability = world.api.get("object", JOB_SET)?.status?.availability;
  if (availability === undefined) throw new Error("the group has no account");
  const figures = availabilityFigures(availability, false, world.clock);
  return { end, truth, restarts, availability, figures, accounted: timeSpent(availability, world.clock) };
}

describe.each([0, 1, 2, 3, 4])("the account of a group's time (seed %i)", (seed) => {
  it.each<[string, readonly FaultKind[]]>([
    ["failures", ["kill-worker", "kill-worker", "delete-pod", "kill-agent", "kill-worker"]],
    ["disruptions", ["evict-pod", "lose-node", "evict-pod"]],
    ["suspensions", ["suspend", "kill-worker", "suspend"]],
    ["controllers that die", ["kill-controller", "kill-worker", "kill-controller", "kill-worker"]],
    ["outages", ["api-outage", "kill-worker", "slow-watches", "kill-worker"]],
  ])("differs from the simulator's by less than 1 %% with %s", (_, kinds) => {
    const { end, truth, restarts, accounted, availability, figures } = play(seed, kinds);
    const differences = TIMED_STATES.map((state) => Math.abs(accounted[state] - truth[state]) / end);
    expect(Math.max(...differences), JSON.stringify({ truth, accounted })).toBeLessThan(0.01);
    // The account is complete, apart from the time before the object existed.
    const total = TIMED_STATES.reduce((sum, state) => sum + accounted[state], 0);
    expect(Math.abs(total - end) / end).toBeLessThan(0.01);
    expect(availability.restarts).toBe(restarts);
    // A failure is seen after it happened, so MTTR is not as exact as MTBF, which is much longer.
    const mtbf = truth.Running / restarts / 1_000;
    expect(Math.abs((figures.mtbfSeconds ?? 0) - mtbf) / mtbf).toBeLessThan(0.01);
    const mttrError = Math.abs((figures.mttrSeconds ?? 0) - truth.Restarting / restarts / 1_000);
    expect(mttrError / mtbf).toBeLessThan(0.01);
    if (!kinds.includes("lose-node")) expect(mttrError).toBeLessThan(3);
    const share = truth.Running / (truth.Running + truth.Restarting + truth.Waiting);
    expect(Math.abs((figures.share ?? 0) - share)).toBeLessThan(0.01);
  });
});
