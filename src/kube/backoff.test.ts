import fc from "fast-check";
import { expect, test } from "vitest";
import { backoffDelay } from "./backoff.ts";

test("delays double up to the maximum and keep at least half of it under jitter", () => {
  const options = { initialMs: 100, maxMs: 1_000 };
  const longest = [1, 2, 3, 4, 5, 6].map((failures) => backoffDelay(options, failures, () => 1));
  expect(longest).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5_000 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      const delay = backoffDelay(options, failures, () => random);
      expect(delay).toBeGreaterThanOrEqual(50);
      expect(delay).toBeLessThanOrEqual(1_000);
    }),
  );
});
