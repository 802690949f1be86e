import { describe, expect, it } from "vitest";
import { runningScene, Scene } from "../testing/scene.ts";
import type { Group } from "./group.ts";
import { observePod } from "./observe.ts";

function tallies(group: Group): unknown {
  return [...group.stages.values()].map(({ stage, epochs, ...numbers }) => ({
    name: stage.name,
    ...numbers,
    epochs: [...epochs].sort(([a], [b]) => a - b),
  }));
}

describe("the numbers of a group", () => {
  it("are the same however often an object is delivered", () => {
    const scene = runningScene();
    const before = tallies(scene.group);
    for (const { pod } of [...scene.group.members.values()]) observePod(scene.group, pod, scene.now);
    scene.job("workers-0");
    expect(tallies(scene.group)).toEqual(before);
  });

  it("are the same for a controller that reads everything anew", () => {
    const scene = runningScene().pod("workers-0/0", { phase: "Succeeded" });
    const before = tallies(scene.group);
    expect(tallies(scene.restartController().group)).toEqual(before);
  });

  it("are all zero when everything is gone", () => {
    const scene = runningScene().forgetPod("workers-0/0").forgetPod("workers-0/1").forgetJob("workers-0");
    expect(tallies(scene.group)).toEqual([
      {
        name: "workers",
        startedJobs: 0,
        startedSlots: 0,
        done: 0,
        occupied: 0,
        unpublished: 0,
        ending: 0,
        running: 0,
        ready: 0,
        epochs: [],
      },
    ]);
    expect(scene.group.members.size + scene.group.podsByJob.size + scene.group.jobs.size).toBe(0);
  });

  it("cost nothing for a Job that is not of the group, however many slots it claims", () => {
    const scene = new Scene();
    const began = performance.now();
    const plain = { controller: { kind: "JobSet", name: "plain", uid: "other" }, parallelism: 2_147_483_647 };
    scene.job("workers-0", plain).job("workers-0", { ...plain, outcome: "Complete" });
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(scene.group.jobs.get("workers-0")?.slots.size).toBe(0);
  });

  it.each(["replicas", "pods"] as const)("cost no more per Pod of a restart when there are more %s", (more) => {
    const perPod = (count: number) => {
      const shape = more === "pods" ? { pods: count } : { pods: 1, replicas: count };
      const scene = new Scene({ workers: shape }).settle();
      const slots = Array.from({ length: count }, (_, index) => {
        return more === "pods" ? `workers-0/${index}` : `workers-${index}/0`;
      });
      for (const job of new Set(slots.map((slot) => slot.split("/")[0] ?? ""))) scene.job(job);
      scene.at(1, ...slots).settle();
      for (const slot of slots) scene.runs("a", slot);
      scene.settle();
      const restart = (epoch: number) => {
        const began = performance.now();
        for (const slot of slots) scene.fails(slot, "a");
        for (const slot of slots) scene.at(epoch, slot);
        const took = performance.now() - began;
        scene.settle();
        for (const slot of slots) scene.runs("a", slot);
        scene.settle();
        return took;
      };
      return Math.min(restart(2), restart(3), restart(4)) / count;
    };
    perPod(200);
    expect(perPod(4_000)).toBeLessThan(5 * perPod(200) + 0.005);
  });

  it("cost no more per Pod event in a large group than in a small one", () => {
    const perEvent = (pods: number) => {
      const scene = new Scene({ workers: { pods } }).settle().job("workers-0");
      const slots = Array.from({ length: pods }, (_, index) => `workers-0/${index}`);
      scene.at(1, ...slots).settle();
      const members = [...scene.group.members.values()].slice(0, 100);
      // The fastest of many rounds: a busy machine makes some slow, never one fast.
      const rounds = Array.from({ length: 50 }, () => {
        const began = performance.now();
        for (const { pod } of members) observePod(scene.group, pod, scene.now);
        return performance.now() - began;
      });
      return Math.min(...rounds) / members.length;
    };
    perEvent(100);
    // 40 times the Pods; work per Pod would show as 40 times the time. The margin is for caches and collections.
    expect(perEvent(4_000)).toBeLessThan(10 * perEvent(100) + 0.01);
  });
});
