import { expect, test } from "vitest";
import { boundWarnings } from "./warnings.ts";

test("a short warning is only prefixed", () => {
  expect(boundWarnings(["spec.x: is odd"])).toEqual(["reprise: spec.x: is odd"]);
});

test("a long warning is cut to 256 characters, and never inside a character", () => {
  for (const text of ["x".repeat(400), "😀".repeat(400), `x${"😀".repeat(400)}`]) {
    const [warning = ""] = boundWarnings([text]);
    expect(warning.length).toBeLessThanOrEqual(256);
    expect(warning.endsWith("…")).toBe(true);
    expect(warning.isWellFormed()).toBe(true);
  }
});

test("line breaks and control characters become spaces, because the API server drops such a warning", () => {
  expect(boundWarnings(["a\nb\u0000\u001b[31mc"])).toEqual(["reprise: a b [31mc"]);
});

test("many warnings stay within half of what the API server passes on, and the rest is counted", () => {
  const bounded = boundWarnings(Array.from({ length: 100 }, (_, index) => `${index} ${"x".repeat(300)}`));
  expect(bounded.join("").length).toBeLessThanOrEqual(2_048);
  expect(bounded.at(-1)).toBe(
    `reprise: ${100 - (bounded.length - 1)} more warnings; run "reprise validate" to see all`,
  );
});

test("warnings that just fit are all there", () => {
  const eight = Array.from({ length: 8 }, () => "x".repeat(247));
  expect(boundWarnings(eight).join("").length).toBe(2_048);
});
