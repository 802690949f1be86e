import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clip } from "./clip.ts";

describe("clip", () => {
  it("does not change text that fits", () => {
    expect(clip("as it is", 8)).toBe("as it is");
  });

  it.each([
    ["no node has room for it", 20, "no node has room..."],
    // Cutting at the only space would leave almost nothing.
    ["a 0123456789012345678901234567890", 20, "a 012345678901234..."],
    ["012345🙂890", 10, "012345..."],
  ])("cuts %j to %i", (text, most, clipped) => {
    expect(clip(text, most)).toBe(clipped);
  });

  it("never exceeds the limit and never splits a character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), fc.integer({ min: 3, max: 50 }), (text, most) => {
        expect(clip(text, most).length).toBeLessThanOrEqual(most);
        expect(clip(text, most).isWellFormed()).toBe(text.isWellFormed());
      }),
    );
  });
});
