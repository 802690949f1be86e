import { describe, expect, it } from "vitest";
import { countLookups } from "../testing/count-lookups.ts";
import { LEAVING, runningScene, Scene } from "../testing/scene.ts";
import type { Group } from "./group.ts";
import { observePod } from "./observe.ts";

function tallies(group: Group): unknown {
  return [...group.stages.values()].map(({ stage, epochs, ...counts }) => ({
    name: stage.name,
    ...counts,
    epochs: [...epochs].sort(([a], [b]) => a - b),
  }));
}

describe("the counts of a group", () => {
  it("stay the same when an object is delivered again", () => {
    const scene = runningScene();
    const before = tallies(scene.group);
    for (const { pod } of [...scene.group.members.values()]) observePod(scene.group, pod, scene.now);
    scene.job("workers-0");
    expect(tallies(scene.group)).toEqual(before);
  });

  it("are the same for a restarted controller that lists everything again", () => {
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
        unaddressed: 0,
        ending: 0,
        running: 0,
        ready: 0,
        epochs: [],
      },
    ]);
    expect(scene.group.members.size + scene.group.podsByJob.size + scene.group.jobs.size).toBe(0);
  });

  it("do not include the slots of a Job outside the group, however many it claims", () => {
    const scene = new Scene();
    const plain = { controller: { kind: "JobSet", name: "plain", uid: "other" }, parallelism: 2_147_483_647 };
    const lookups = countLookups(() => {
      scene.job("workers-0", plain).job("workers-0", { ...plain, outcome: "Complete" });
    });
    expect(lookups).toBeLessThan(100);
    expect(scene.group.jobs.get("workers-0")?.slots.size).toBe(0);
  });
});

/** So many Pods, all running in epoch 1, in one Job or in a Job each. */
function largeScene(count: number, more: "replicas" | "pods"): { readonly scene: Scene; readonly slots: string[] } {
  const scene = new Scene({ workers: more === "pods" ? { pods: count } : { pods: 1, replicas: count } }).settle();
  const slots = Array.from({ length: count }, (_, index) => {
    return more === "pods" ? `workers-0/${index}` : `workers-${index}/0`;
  });
  for (const job of new Set(slots.map((slot) => slot.split("/")[0] ?? ""))) scene.job(job);
  scene
    .at(1, ...slots)
    .settle()
    .runs("a", ...slots)
    .settle();
  return { scene, slots };
}

describe.each(["replicas", "pods"] as const)("with more %s", (more) => {
  it("a Pod event that changes nothing costs the same", () => {
    const perEvent = (count: number) => {
      const { scene } = largeScene(count, more);
      const [first] = scene.group.members.values();
      if (first === undefined) throw new Error("a Pod expected");
      return countLookups(() => observePod(scene.group, first.pod, scene.now));
    };
    expect(perEvent(1_000)).toBe(perEvent(50));
  });

  it("each Pod of a restart costs the same to observe, and the decisions are linear in the number of Pods", () => {
    const costs = (count: number) => {
      const { scene, slots } = largeScene(count, more);
      const decisions: number[] = [];
      const decide = () => {
        let decided = true;
        while (decided) {
          decisions.push(countLookups(() => scene.verdict()));
          decided = scene.step() !== undefined;
        }
      };
      const observe = countLookups(() => {
        for (const slot of slots) scene.fails(slot, "a");
      });
      decide();
      const arrive = countLookups(() => {
        for (const slot of slots) scene.at(2, slot);
      });
      decide();
      scene.runs("b", ...slots);
      decide();
      expect(scene.status).toMatchObject({ syncedEpoch: 2, phase: "Running" });
      return { observe: (observe + arrive) / count, decide: Math.max(...decisions) / count };
    };
    const [few, many] = [costs(50), costs(1_000)];
    expect(many.observe).toBeLessThanOrEqual(few.observe * 1.1);
    expect(many.decide).toBeLessThanOrEqual(few.decide * 1.1);
  });
});

it("a decision about a running group costs the same however many Pods a Job has", () => {
  const perDecision = (count: number) => {
    const { scene } = largeScene(count, "pods");
    return countLookups(() => scene.verdict());
  };
  expect(perDecision(1_000)).toBe(perDecision(50));
});

describe("with more Pods, a decision costs the same", () => {
  const perDecision = (count: number, happens: (scene: Scene, slots: readonly string[]) => void) => {
    const { scene, slots } = largeScene(count, "pods");
    happens(scene, slots);
    scene.settle();
    return countLookups(() => scene.verdict());
  };

  it.each<[string, (scene: Scene, slots: readonly string[]) => void]>([
    ["while all of them terminate", (scene, slots) => slots.map((slot) => scene.pod(slot, { deletion: LEAVING }))],
    ["after all of them have failed", (scene, slots) => slots.map((slot) => scene.fails(slot, "a"))],
    [
      "while all but one have come back",
      (scene, slots) => {
        scene.fails(slots[0] ?? "", "a").settle();
        scene.at(2, ...slots.slice(1));
      },
    ],
  ])("%s", (_name, happens) => {
    expect(perDecision(1_000, happens)).toBe(perDecision(50, happens));
  });
});

it("an event of a Job that changes only its counts costs the same however many Pods it has", () => {
  const perEvent = (count: number) => {
    const { scene } = largeScene(count, "pods");
    return countLookups(() => scene.job("workers-0", { ready: 7, succeeded: 1 }));
  };
  expect(perEvent(1_000)).toBe(perEvent(50));
});
