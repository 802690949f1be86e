// A folder of files for the tests of the lint checks, and the checks as `npm run lint` runs them.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, beforeEach } from "vitest";

export interface CheckedTree {
  readonly root: string;
  write(files: Readonly<Record<string, string>>): void;
}

/** A new empty folder for each test of the file, removed after it. */
export function checkedTree(): CheckedTree {
  let root = "";
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "reprise-lint-"));
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });
  return {
    get root() {
      return root;
    },
    write(files) {
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(join(root, dirname(file)), { recursive: true });
        writeFileSync(join(root, file), text);
      }
    },
  };
}

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a check of this folder, such as check-purity.ts, over a tree. */
export function runCheck(check: string, cwd: string): Promise<Outcome> {
  return runScript(join("scripts/lint", check), cwd);
}

/** `script`: from the root of this repository. */
export function runScript(script: string, cwd: string, args: readonly string[] = []): Promise<Outcome> {
  return new Promise((done) => {
    execFile(process.execPath, [resolve(script), ...args], { cwd }, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}
