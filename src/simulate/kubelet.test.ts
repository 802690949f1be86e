import { describe, expect, it } from "vitest";
import { Cluster } from "./cluster.ts";

const PODS = { stages: [{ name: "workers", replicas: 1, parallelism: 2, dependsOn: [] }], inOrder: false };

/** The group runs by then, and a lost node has been missed long ago. */
const END_MS = 100_000;

describe("a node that loses power while the epoch of its Pod is on the way to the API server", () => {
  /** When the last agent takes epoch 1, and in which Pod. */
  function lastToArrive(seed: number) {
    const { world } = new Cluster(seed, { ...PODS, maxRestarts: 3 });
    world.schedule.runUntil(10_000, () => false);
    const taken = world.moments.filter(({ what }) => what === "agent takes epoch 1").at(-1);
    if (taken === undefined) throw new Error("no agent has taken an epoch");
    return taken;
  }

  it("ends that epoch with its Pod, although the Pod takes it later than that", () => {
    for (let seed = 0; seed < 10; seed += 1) {
      const { at, actor } = lastToArrive(seed);
      const { world, nodes } = new Cluster(seed, { ...PODS, maxRestarts: 3 });
      const { schedule, api, judge } = world;
      // A request takes a millisecond or more.
      schedule.after(at - 0.5, () => {
        const uid = api.list("pod").find(({ name }) => name === actor)?.uid ?? "";
        nodes.powerOff(uid);
        schedule.after(40_000, () => nodes.delete(uid, { disrupted: true, forced: false }));
        schedule.after(60_000, () => nodes.remove(uid));
      });
      schedule.runUntil(END_MS, () => judge.breaches.length > 0);
      const steps = world.moments.filter((each) => each.actor === actor && each.at >= at - 0.5).map(({ what }) => what);
      expect({ seed, breaches: judge.breaches, steps }).toEqual({ seed, breaches: [], steps: ["agent takes epoch 1"] });
    }
  });
});
