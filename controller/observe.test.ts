import { describe, expect, it } from "vitest";
import type { Group } from "./group.ts";
import { observePod } from "./observe.ts";
import { runningScene, Scene } from "./testing/scene.ts";

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
