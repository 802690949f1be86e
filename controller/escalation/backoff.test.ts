import { expect, it } from "vitest";
import { DEFAULT_RESTART_POLICY } from "../../src/api/restart-policy.ts";
import { backoffOf } from "./backoff.ts";

it("the back-off starts after a number of restarts and doubles with each one, up to the maximum", () => {
  const policy = { ...DEFAULT_RESTART_POLICY, backoff: { after: 2, first: 10_000, max: 35_000 } };
  const delays = [0, 1, 2, 3, 4, 5, 50].map((restarts) => backoffOf({ restarts, slot: "a/0", failures: 1 }, policy));
  expect(delays).toEqual([0, 0, 0, 10_000, 20_000, 35_000, 35_000]);
  expect(backoffOf(undefined, policy)).toBe(0);
});
