import { expect, it } from "vitest";
import { brief, quoted } from "./brief.ts";

it.each([
  [undefined, "not set"],
  [null, "not set"],
  ["on", '"on"'],
  [0, "0"],
  [false, "false"],
  [[1, 2], "a list"],
  [{ a: 1 }, "a map"],
])("a message shows %j as %s", (value, text) => {
  expect(brief(value)).toBe(text);
});

it("a message quotes no more than the first 60 characters of a text", () => {
  expect(quoted("x".repeat(60))).toBe(`"${"x".repeat(60)}"`);
  expect(quoted("x".repeat(300_000))).toBe(`"${"x".repeat(60)}…"`);
});
