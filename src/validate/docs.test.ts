import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { RULES } from "./rules.ts";

it("docs/validation.md lists every rule as the code has it, in the same order", () => {
  const rows = readFileSync("docs/validation.md", "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  expect(rows).toEqual(RULES.map(({ name, severity, describe }) => `| \`${name}\` | ${severity} | ${describe} |`));
});
