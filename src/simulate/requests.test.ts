import { describe, expect, it } from "vitest";
import { playScenario, playSeedWithRequests } from "./play.ts";
import { RequestJudge } from "./request-judge.ts";
import type { RunResult } from "./simulate.ts";
import { timelineLines } from "./timeline.ts";

function expectGood(seed: number, { breaches, moments }: RunResult): void {
  if (breaches.length > 0)
    throw new Error(`seed ${seed}: ${breaches.join("; ")}\n${timelineLines(moments).join("\n")}`);
}

const SEEDS = Array.from({ length: 12 }, (_, seed) => seed);

describe("a request for a restart by hand", () => {
  it("restarts every worker once and is not counted, even if the same manifest is applied again", () => {
    for (const seed of SEEDS) {
      const faults = [{ kind: "request-restart", at: 20_000 }] as const;
      const result = playScenario({ seed, pods: 4, faults, maxRestarts: 0 });
      expectGood(seed, result);
      expect({ seed, ...result }).toMatchObject({ syncedEpoch: 2, restarts: 0, outcome: "Running" });
      expect(result.moments.filter(({ what }) => what === "worker starts in epoch 2")).toHaveLength(4);
    }
  });

  it("is carried out once by whichever controller comes next", () => {
    for (const seed of SEEDS) {
      const faults = [
        { kind: "request-restart", at: 20_000 },
        { kind: "kill-controller", at: 20_000 + seed * 20 },
      ] as const;
      const result = playScenario({ seed, pods: 4, faults });
      expectGood(seed, result);
      expect({ seed, ...result }).toMatchObject({ syncedEpoch: 2, restarts: 0 });
    }
  });

  it.each([0, 50, 100, 150])("keeps every promise among any combination of faults (50 seeds from %i)", (first) => {
    for (let seed = first; seed < first + 50; seed += 1) expectGood(seed, playSeedWithRequests(seed));
  });
});

describe("the judge of requests", () => {
  const before = { deprecatedEpoch: 0, syncedEpoch: 1, heldStages: [], restarts: 0, ready: "", conditions: [] };
  const running = { ...before, phase: "Running", history: [] } as const;

  function ended(request: string, counted = false, epoch = 1) {
    const cause = { reason: "Requested", request } as const;
    return { ...running, deprecatedEpoch: epoch, syncedEpoch: epoch, history: [record(cause, counted, epoch)] };
  }

  function record(cause: { readonly reason: "Requested"; readonly request: string }, counted: boolean, epoch: number) {
    return { cause, counted, fromEpoch: epoch, action: "RestartInPlace" } as const;
  }

  it.each([
    ["is counted", [ended("a", true)], "the request a was counted as a restart"],
    ["is carried out twice", [ended("a"), ended("a", false, 2)], "the request a was carried out twice"],
    ["was never made", [ended("b")], "epoch 1 ended without such a request"],
  ])("reports one that %s", (_, writes, breach) => {
    const breaches: string[] = [];
    const judge = new RequestJudge((each) => breaches.push(each));
    judge.made("uid", "a", running);
    for (const write of writes) judge.epochEnds("uid", write);
    expect(breaches).toEqual([breach]);
  });

  it("reports one after which the same epoch still runs", () => {
    const judge = new RequestJudge(() => {});
    judge.made("uid", "a", running);
    expect(judge.unanswered("uid", running)).toBe("a");
    expect(judge.unanswered("uid", { deprecatedEpoch: 1, syncedEpoch: 2 })).toBeUndefined();
    expect(judge.unanswered("other", running)).toBeUndefined();
  });
});
