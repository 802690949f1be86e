import { expect, test } from "vitest";
import { boundWarnings } from "./warnings.ts";

const warning = (message: string, path = "") => ({ rule: "some-rule", path, message });

test("a short warning is only prefixed", () => {
  expect(boundWarnings([warning("is odd", "spec.x")])).toEqual(["reprise: spec.x: is odd"]);
});

test("a long warning is cut to 256 characters, and never inside a character", () => {
  for (const text of ["x".repeat(400), "😀".repeat(400), `x${"😀".repeat(400)}`]) {
    const [line = ""] = boundWarnings([warning(text)]);
    expect(line.length).toBeLessThanOrEqual(256);
    expect(line.endsWith("…")).toBe(true);
    expect(line.isWellFormed()).toBe(true);
  }
});

test("line breaks and control characters become spaces, because the API server drops such a warning", () => {
  expect(boundWarnings([warning("a\nb\u0000\u001b[31mc")])).toEqual(["reprise: a b [31mc"]);
});

test("many warnings stay within half of the API server's limit, and the rest is counted", () => {
  const bounded = boundWarnings(Array.from({ length: 100 }, (_, index) => warning(`${index} ${"x".repeat(300)}`)));
  expect(bounded.join("").length).toBeLessThanOrEqual(2_048);
  expect(bounded.at(-1)).toBe(
    `reprise: ${100 - (bounded.length - 1)} more warnings; run "reprise validate" to see all`,
  );
});

test("warnings that exactly fit the limit are all kept", () => {
  const eight = Array.from({ length: 8 }, () => warning("x".repeat(247)));
  expect(boundWarnings(eight).join("").length).toBe(2_048);
});
