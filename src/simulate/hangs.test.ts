import { describe, expect, it } from "vitest";
import type { FaultKind } from "./faults/catalog.ts";
import { playScenario, playSeedWithHangs } from "./play.ts";
import type { RunResult } from "./simulate.ts";
import { timelineLines } from "./timeline.ts";

const HANG_AFTER_MS = 20_000;
const SEEDS = Array.from({ length: 12 }, (_, seed) => seed);

function expectGood(seed: number, { breaches, moments }: RunResult): void {
  if (breaches.length > 0)
    throw new Error(`seed ${seed}: ${breaches.join("; ")}\n${timelineLines(moments).join("\n")}`);
}

function strike(seed: number, ...kinds: readonly FaultKind[]): RunResult {
  const faults = kinds.map((kind, index) => ({ kind, at: 20_000 + ((seed * 37) % 1_000) + index * 200 }));
  const result = playScenario({ seed, pods: 4, faults, hangAfterMs: HANG_AFTER_MS });
  expectGood(seed, result);
  return result;
}

describe("a group whose worker hangs", () => {
  it("restarts once, in place, within the limit and four seconds", () => {
    for (const seed of SEEDS) {
      const result = strike(seed, "hang-worker");
      expect({ seed, ...result }).toMatchObject({ restarts: 1, syncedEpoch: 2 });
      const at = (what: RegExp) => result.moments.find((moment) => what.test(moment.what))?.at ?? 0;
      expect(at(/^deprecates/) - at(/^worker is stuck/)).toBeLessThan(HANG_AFTER_MS + 4_000);
    }
  });

  it.each<FaultKind>(["kill-controller", "second-leader", "slow-watches", "api-outage"])(
    "restarts once, even with a simultaneous %s",
    (trouble) => {
      for (const seed of SEEDS) expect(strike(seed, "hang-worker", trouble)).toMatchObject({ restarts: 1 });
    },
  );

  it("restarts at most once for a pause of about the limit", () => {
    const restarts = SEEDS.map((seed) => strike(seed, "pause-workers").restarts);
    expect(new Set(restarts)).toEqual(new Set([0, 1]));
  });

  it("restarts once if a worker fails meanwhile", () => {
    for (const seed of SEEDS) expect(strike(seed, "hang-worker", "kill-worker")).toMatchObject({ restarts: 1 });
  });

  it.each([0, 50, 100, 150])("keeps every promise among any combination of faults (50 seeds from %i)", (first) => {
    for (let seed = first; seed < first + 50; seed += 1) expectGood(seed, playSeedWithHangs(seed));
  });

  it("may blame a worker that was stuck first and was killed just before the verdict (seed 7926)", () => {
    expectGood(7926, playSeedWithHangs(7926));
  });
});
