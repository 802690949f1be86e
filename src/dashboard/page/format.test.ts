import { expect, test } from "vitest";
import { ago, duration, percent } from "./format.ts";

test.each([
  [-1, "0.0 s"],
  [0.44, "0.4 s"],
  [12.9, "12 s"],
  [200, "3 min 20 s"],
  [7_500, "2 h 5 min"],
  [300_000, "3 days"],
])("%s seconds are %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

test("a time that cannot be read is unknown", () => {
  expect(ago(Date.parse("nonsense"), 0)).toBe("unknown");
  expect(ago(1_000, 61_000)).toBe("1 min 0 s ago");
});

test("a share is never rounded up to 100 %", () => {
  expect([1, 0.99999, 0.5].map(percent)).toEqual(["100.00 %", "99.99 %", "50.00 %"]);
});
