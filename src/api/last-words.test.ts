import { describe, expect, it } from "vitest";
import { LAST_WORDS_LIMIT, lastWords } from "./last-words.ts";

describe("the last words of a container", () => {
  it.each([
    ["Traceback:\n  File x\nRuntimeError: no device\n", "Traceback: File x RuntimeError: no device"],
    ["\u001b[31mERROR\u001b[0m out of memory\r\n", "ERROR out of memory"],
    ["bell\u0007 null\u0000 override\u202e separator\u2028end", "bell null override separator end"],
    ["half a pair \ud800 of surrogates", "half a pair of surrogates"],
  ])("of %j are one line of plain text", (message, text) => {
    expect(lastWords(message)).toBe(text);
  });

  it("are the end of a long message, from the start of a word", () => {
    const text = lastWords(`${"begin ".repeat(100)}ValueError: ${"x".repeat(150)}`) ?? "";
    expect(text).toMatch(/^\.\.\.begin .*ValueError: x+$/);
    expect(text.length).toBeLessThanOrEqual(LAST_WORDS_LIMIT);
  });

  it("keep the limit if no word begins, and never cut a character in half", () => {
    const text = lastWords("\u{1f4a5}".repeat(1_000)) ?? "";
    expect(Array.from(text)).toHaveLength(LAST_WORDS_LIMIT);
    expect(text.endsWith("\u{1f4a5}")).toBe(true);
  });

  it.each(["", " \n\t", "\u001b[0m"])("of %j are absent", (message) => {
    expect(lastWords(message)).toBeUndefined();
  });
});
