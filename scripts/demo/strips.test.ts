import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { strip } from "./strips.ts";

const plain = (...args: Parameters<typeof strip>) => stripVTControlCharacters(strip(...args));

describe("the strip of a worker", () => {
  it("shows running, down, waiting and running again, with one character per eighth of a second", () => {
    expect(plain({ down: 0.5, back: 1, up: 1.5 }, 2)).toBe("████····▒▒▒▒████");
  });

  it("ends with what has happened so far", () => {
    const nothing = { down: Number.NaN, back: Number.NaN, up: Number.NaN };
    expect(plain(nothing, 0.5)).toBe("████");
    expect(plain({ ...nothing, down: 0.25 }, 0.5)).toBe("██··");
  });

  it("is cut at its beginning if it is long", () => {
    const text = plain({ down: 1, back: 2, up: 99 }, 100);
    expect(text).toHaveLength(96);
    expect(text.endsWith("████████")).toBe(true);
  });
});
