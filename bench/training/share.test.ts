import { expect, test } from "vitest";
import type { Step } from "../../test/ecosystem/training-example.ts";
import { intervalsOf, type Measured, shareTrained, stepSeconds } from "./share.ts";

/** One step a second. */
function run(started: number, first: number, steps: number): readonly Step[] {
  return Array.from({ length: steps }, (_, index) => {
    return { step: first + index, loss: 1, time: started + 1 + index, started };
  });
}

/** Made 10 steps by the time 10, was killed, and made 9 and the following again from the time 15 on. */
const interrupted = [...run(0, 1, 10), ...run(14, 9, 6)];
const undisturbed = run(0, 1, 20);
const measured: Measured = {
  from: 5,
  to: 20,
  failures: { reprise: [], upstream: [], recreate: [] },
  steps: { reprise: interrupted, upstream: undisturbed, recreate: undisturbed },
};

test("steps that a job makes again are no training, nor is the time without a step", () => {
  const kinds = intervalsOf(measured, "reprise").map(({ kind, from, to }) => `${from}-${to} ${kind}`);
  expect(kinds).toEqual([
    ...[5, 6, 7, 8, 9].map((second) => `${second}-${second + 1} new`),
    "10-15 none",
    "15-16 again",
    ...[16, 17, 18, 19].map((second) => `${second}-${second + 1} new`),
  ]);
});

test("a job that nothing disturbs trains all the time, and a job that loses a rank only for its new steps", () => {
  expect(stepSeconds(measured)).toBe(1);
  expect(shareTrained(measured, "upstream")).toBe(1);
  // 5 steps before the failure and 4 after it, in 15 s.
  expect(shareTrained(measured, "reprise")).toBeCloseTo(9 / 15);
});
