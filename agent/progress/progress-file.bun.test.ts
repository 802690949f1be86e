// Runs under bun, whose files the agent uses: see ../under-bun.test.ts.
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Sighting } from "./decide-progress.ts";
import { lookAtFile } from "./progress-file.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-progress-"));
  path = join(folder, "step");
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function markOf(file: string): Promise<string> {
  const sighting: Sighting = await lookAtFile(file);
  if (sighting.kind !== "seen") throw new Error(`not seen: ${JSON.stringify(sighting)}`);
  return sighting.mark;
}

describe("a progress file", () => {
  it("is absent until the worker creates it, also while its folder is missing", async () => {
    expect(await lookAtFile(path)).toEqual({ kind: "absent" });
    expect(await lookAtFile(join(folder, "checkpoints", "latest"))).toEqual({ kind: "absent" });
  });

  it("shows the step that the worker writes", async () => {
    writeFileSync(path, "step=1234\n");
    expect(await lookAtFile(path)).toMatchObject({ kind: "seen", step: 1_234 });
  });

  it("has another mark after it was touched, written or replaced, and otherwise the same", async () => {
    const marks = new Set<string>();
    writeFileSync(path, "");
    marks.add(await markOf(path));
    marks.add(await markOf(path));
    expect(marks.size).toBe(1);
    utimesSync(path, 1, 1);
    marks.add(await markOf(path));
    // Also with a clock that stands still.
    writeFileSync(path, "step=1");
    utimesSync(path, 1, 1);
    marks.add(await markOf(path));
    writeFileSync(path, "step=2");
    utimesSync(path, 1, 1);
    marks.add(await markOf(path));
    expect(marks.size).toBe(4);
  });

  it("is not read if it is large: a log, or 10 GB of a checkpoint", async () => {
    writeFileSync(path, "step=1\n");
    truncateSync(path, 10 * 2 ** 30);
    expect(await lookAtFile(path)).toEqual({ kind: "seen", mark: expect.stringContaining("/10737418240/") });
  });

  it("is nothing to judge by if it is a folder or a FIFO, which is not opened", async () => {
    mkdirSync(path);
    spawnSync("sh", ["-c", `mkfifo ${join(folder, "fifo")}`]);
    for (const other of [path, join(folder, "fifo")])
      expect(await lookAtFile(other)).toEqual({ kind: "unreadable", reason: "it is not a regular file" });
  });

  it("still shows that it changes if it may not be read, or changes its owner", async () => {
    writeFileSync(path, "step=1\n");
    const before = await markOf(path);
    chownSync(path, 4321, 4321);
    chmodSync(path, 0o000);
    utimesSync(path, 1, 1);
    expect(await markOf(path)).not.toBe(before);
  });

  it("is nothing to judge by if a part of its path is a file", async () => {
    writeFileSync(path, "");
    expect(await lookAtFile(join(path, "latest"))).toEqual({ kind: "unreadable", reason: "ENOTDIR" });
  });
});
