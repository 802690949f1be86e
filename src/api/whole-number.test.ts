import { describe, expect, it } from "vitest";
import { readWholeNumber } from "./whole-number.ts";

describe("a whole number in an annotation", () => {
  it.each([
    ["0", 0],
    ["3", 3],
    ["007", 7],
    ["2147483647", 2_147_483_647],
  ])("reads %s", (text, value) => {
    expect(readWholeNumber(text)).toBe(value);
  });

  it.each(["", " 3", "3 ", "+3", "-1", "1.5", "1e3", "0x10", "three", "٣", "2147483648", "99999999999"])(
    "rejects %j",
    (text) => {
      expect(readWholeNumber(text)).toBeUndefined();
    },
  );
});
