import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDuration, parseDuration } from "./duration.ts";

describe("parseDuration", () => {
  it.each([
    ["30s", 30_000],
    ["5m", 300_000],
    ["1h30m", 5_400_000],
    ["1.5s", 1_500],
    ["250ms", 250],
    ["0s", 0],
  ])("reads %s", (text, expected) => {
    expect(parseDuration(text)).toBe(expected);
  });

  it.each(["", "30", "s", "-5s", "5 m", "5minutes", "1m30m", "30s1m", "1e3s", "Infinitys", `${"9".repeat(30)}h`])(
    "refuses %j rather than guess",
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});

describe("formatDuration", () => {
  it("writes the largest units first and leaves out zeros", () => {
    expect(formatDuration(5_400_000)).toBe("1h30m");
    expect(formatDuration(60_000)).toBe("1m");
    expect(formatDuration(0)).toBe("0s");
  });

  it("is read back as the same span", () => {
    fc.assert(
      fc.property(fc.nat({ max: 10 ** 12 }), (span) => {
        expect(parseDuration(formatDuration(span))).toBe(span);
      }),
    );
  });
});
