import { describe, expect, it } from "vitest";
import { quantityValue } from "./quantity.ts";

describe("quantities", () => {
  it.each([
    ["0.5", "500m"],
    ["1", 1],
    ["1000m", "1"],
    ["1Gi", "1024Mi"],
    ["1e3", "1k"],
    ["1E3", "1000"],
    ["2E", "2000P"],
    [".5", "0.50"],
    ["1.", "1"],
    ["+1", "1"],
    ["0.1n", "1n"],
    [0.25, "250m"],
  ])("%j equals %j", (a, b) => {
    expect(quantityValue(a)).toBeDefined();
    expect(quantityValue(a)).toBe(quantityValue(b));
  });

  it.each(["", ".", "m", "1 Gi", "1gi", "Gi", "1e", "1e999999999", "0x10", "1Gi1", "NaN", "9".repeat(100)])(
    "%j is not a quantity",
    (text) => {
      expect(quantityValue(text)).toBeUndefined();
    },
  );

  it("are text or numbers", () => {
    for (const value of [null, undefined, true, [], {}]) expect(quantityValue(value)).toBeUndefined();
    expect(quantityValue("-1")).toBe(-1_000_000_000n);
  });
});
