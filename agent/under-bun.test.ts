// The agent uses bun's sockets and files, so their tests (*.bun.test.ts) run under bun. Each appears as a test here, so
// that one command runs and counts all tests.
import { execFile } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bunFor, nativeArch } from "../scripts/architectures.ts";

/** As for tests under node: clusters that start at the same time can slow them tenfold. */
const TEST_TIMEOUT_MS = 120_000;

/** A whole file takes half a minute on an idle machine. */
const FILE_TIMEOUT_MS = 600_000;

interface Case {
  readonly name: string;
  readonly result: "passed" | "failed" | "skipped";
}

const files = globSync("**/*.bun.test.ts", { cwd: import.meta.dirname });

describe.each(files)("under bun: %s", async (file) => {
  const { cases, output, failure } = await run(file);

  it.each(cases)("$name", ({ result }) => {
    expect(result, output).toBe("passed");
  });

  it("runs to the end", () => {
    expect(failure, output).toBeNull();
    expect(cases, output).not.toHaveLength(0);
  });
});

it("there are tests to run under bun", () => {
  expect(files).not.toHaveLength(0);
});

interface Run {
  readonly cases: readonly Case[];
  readonly output: string;
  readonly failure: Error | null;
}

async function run(file: string): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), "reprise-bun-"));
  try {
    const report = join(folder, "report.xml");
    const options = [`--timeout=${TEST_TIMEOUT_MS}`, "--reporter=junit", `--reporter-outfile=${report}`];
    const where = { cwd: import.meta.dirname, timeout: FILE_TIMEOUT_MS };
    return await new Promise((resolve) => {
      execFile(bunFor(nativeArch()), ["test", ...options, `./${file}`], where, (failure, stdout, stderr) => {
        resolve({ cases: casesIn(report), output: `${stdout}${stderr}`, failure });
      });
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Reads bun's JUnit report: one element per test, empty if it passed. It is missing if bun failed earlier. */
function casesIn(report: string): Case[] {
  if (!existsSync(report)) return [];
  const text = readFileSync(report, "utf8");
  return Array.from(text.matchAll(/<testcase name="([^"]*)"[^>]*?(?:\/>|>\s*<(failure|skipped|error))/g), (match) => {
    const [, name = "", mark] = match;
    return { name: unescaped(name), result: mark === undefined ? "passed" : mark === "skipped" ? "skipped" : "failed" };
  });
}

function unescaped(text: string): string {
  const characters: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", "#39": "'", amp: "&" };
  return text.replace(/&([a-z0-9#]+);/g, (whole, name: string) => characters[name] ?? whole);
}
