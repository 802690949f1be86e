import { describe, expect, it } from "vitest";
import { within } from "../../test/cpu-time.ts";
import { compilePattern } from "./message-pattern.ts";

const MESSAGE = "Container main for pod ml/train-0 failed with exit code 42 matching FailJob rule at index 1";

describe("a message pattern", () => {
  it.each([
    ["exit code 42", true],
    ["exit code 4[0-9]", true],
    ["exit code (1|42) ", true],
    ["^Container .* index \\d+$", true],
    ["(?i)CONTAINER MAIN", true],
    ["(?P<code>exit code \\d{2}\\b)", true],
    ["pod [[:alpha:]]+/train\\-\\d", true],
    ["\\AContainer\\s+main", true],
    ["index 1\\z", true],
    ["x{2}|rule", true],
    ["ml/(?:[^ ]+) failed", true],
    ["(?:exit|code|\\s|\\d)+ matching", true],
    ["", true],
    ["{", false],
    ["container main", false],
    ["exit code 4\\b", false],
    ["exit code 42$", false],
    ["^main", false],
    ["code [^4]", false],
    ["(?i:CONTAINER) MAIN", false],
    ["exit code \\d{3,}", false],
  ])("in the syntax of RE2: %s matches: %s", (pattern, expected) => {
    expect(compilePattern(pattern)?.(MESSAGE)).toBe(expected);
  });

  it.each(["(", "a)", "[a", "a**", "*a", "(?=a)", "(?<!a)", "\\1", "\\pL", "\\Qa\\E", "a{2,1}", "[[:wrod:]]", "\\"])(
    "that is invalid or not supported is not compiled: %s",
    (pattern) => {
      expect(compilePattern(pattern)).toBeUndefined();
    },
  );

  it("takes linear time where the engine of JavaScript would never finish", () => {
    expect(within(2, () => compilePattern("^(a+)+$")?.(`${"a".repeat(500)}b`))).toBe(false);
    expect(within(2, () => compilePattern("((((a{9}){9}){9}){9}){9}"))).toBeUndefined();
    expect(within(2, () => compilePattern("a".repeat(1_001)))).toBeUndefined();
  });
});
