import fc from "fast-check";
import { expect, it } from "vitest";
import { unifiedDiff } from "./diff.ts";

const NAMES = ["a", "b"] as const;

it("the diff of equal texts is empty", () => {
  expect(unifiedDiff("x\n", "x\n", NAMES)).toEqual([]);
});

it("the diff has three lines around each change, with line numbers as patch expects", () => {
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`);
  const before = `${lines.join("\n")}\n`;
  const after = before.replace("line 5\n", "").replace("line 15\n", "line 15\nnew\n");
  expect(unifiedDiff(before, after, NAMES)).toEqual([
    "--- a",
    "+++ b",
    "@@ -2,7 +2,6 @@",
    ...[" line 2", " line 3", " line 4", "-line 5", " line 6", " line 7", " line 8"],
    "@@ -13,6 +12,7 @@",
    ...[" line 13", " line 14", " line 15", "+new", " line 16", " line 17", " line 18"],
  ]);
});

it("the diff marks a last line without a newline", () => {
  expect(unifiedDiff("x", "x\n", NAMES)).toEqual([
    "--- a",
    "+++ b",
    "@@ -1 +1 @@",
    "-x\n\\ No newline at end of file",
    "+x",
  ]);
});

it("the diff turns any text into any other", () => {
  const text = fc
    .array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 30 })
    .map((lines) => lines.map((line) => `${line}\n`).join(""));
  fc.assert(
    fc.property(text, text, (before, after) => {
      expect(patched(before, unifiedDiff(before, after, NAMES))).toBe(after);
    }),
  );
});

it("the diff of very different texts is one block, without a long search", () => {
  const lines = (prefix: string) => Array.from({ length: 5_000 }, (_, index) => `${prefix}${index}\n`).join("");
  const diff = unifiedDiff(lines("a"), lines("b"), NAMES);
  expect(diff).toHaveLength(10_003);
});

/** What `patch` does. */
function patched(before: string, diff: readonly string[]): string {
  const source = before.split("\n").slice(0, -1);
  const result: string[] = [];
  let next = 0;
  for (const line of diff.slice(2)) {
    const [, start, count] = /^@@ -(\d+)(?:,(\d+))? /.exec(line) ?? [];
    if (start !== undefined) {
      const begin = count === "0" ? Number(start) : Number(start) - 1;
      while (next < begin) result.push(source[next++] ?? "");
    } else if (line.startsWith("+")) result.push(line.slice(1));
    else {
      expect(source[next]).toBe(line.slice(1));
      if (line.startsWith(" ")) result.push(line.slice(1));
      next++;
    }
  }
  return [...result, ...source.slice(next)].map((line) => `${line}\n`).join("");
}
