import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { findLongLines, longLinesIn } from "./line-length.ts";
import { checkedTree, runCheck } from "./testing.ts";

const tree = checkedTree();

const word = "word ";

describe("the limit of 120 columns", () => {
  it("holds in this repository", () => {
    expect(findLongLines(".")).toEqual([]);
  });

  it("names the file, the line and its length", () => {
    const text = `short\n${word.repeat(30)}\n`;
    expect(longLinesIn("docs/x.md", text)).toEqual([{ file: "docs/x.md", line: 2, columns: 150 }]);
  });

  it("fails the check, which prints the lines that are too long", { timeout: 30_000 }, async () => {
    tree.write({ "docs/x.md": `${word.repeat(30)}\n`, "docs/y.md": "short\n" });
    execFileSync("git", ["init", "--quiet"], { cwd: tree.root });
    execFileSync("git", ["add", "."], { cwd: tree.root });
    expect(await runCheck("check-line-length.ts", tree.root)).toEqual({
      code: 1,
      stdout: "line length: 1 lines too long\n",
      stderr: "docs/x.md:1: 150 columns, 120 at most\n",
    });
  });

  it("counts characters, not bytes", () => {
    expect(longLinesIn("docs/x.md", "ü ".repeat(60))).toEqual([]);
  });

  it("leaves out rows of Markdown tables, which cannot be broken", () => {
    const row = `| ${word.repeat(30)} |`;
    expect(longLinesIn("docs/x.md", row)).toEqual([]);
    expect(longLinesIn("src/x.ts", row)).toHaveLength(1);
  });

  it("leaves out what a program prints, but not the command before it", () => {
    const command = `$ reprise ${word.repeat(30)}`;
    expect(longLinesIn("docs/x.md", `\`\`\`console\n${word.repeat(30)}\n\`\`\`\n`)).toEqual([]);
    expect(longLinesIn("docs/x.md", `\`\`\`console\n${command}\n\`\`\`\n`)).toHaveLength(1);
  });

  it("leaves out a line that is one address", () => {
    expect(longLinesIn("docs/x.md", `https://example.com/${"x".repeat(120)}`)).toEqual([]);
  });
});
