import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clearFolder } from "./clear-folder.ts";

const MIB = 1024 * 1024;

let root: string;
let folder: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "reprise-shm-"));
  folder = join(root, "shm");
  mkdirSync(folder);
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function leave(path: string, bytes: number): void {
  writeFileSync(join(folder, path), Buffer.alloc(bytes, 1));
}

describe("clearing shared memory", () => {
  it("removes the files of workers at any depth, and counts the memory they took", () => {
    leave("torch_1_2", MIB);
    mkdirSync(join(folder, "a/b"), { recursive: true });
    leave("a/b/.hidden", MIB);
    expect(clearFolder(folder)).toEqual({ files: 2, bytes: 2 * MIB, leftBytes: 0 });
    expect(readdirSync(folder, { recursive: true }).sort()).toEqual(["a", "a/b"]);
  });

  it("keeps the files of agents", () => {
    leave("reprise-agent-4b1f.epoch", 1);
    expect(clearFolder(folder)).toEqual({ files: 0, bytes: 0, leftBytes: 0 });
    expect(readdirSync(folder)).toEqual(["reprise-agent-4b1f.epoch"]);
  });

  it("does not follow symbolic links", () => {
    const outside = join(root, "checkpoint");
    mkdirSync(outside);
    writeFileSync(join(outside, "step-9"), "kept");
    symlinkSync(outside, join(folder, "link"));
    symlinkSync(join(outside, "step-9"), join(folder, "link-to-file"));
    expect(clearFolder(folder)).toMatchObject({ files: 0 });
    expect(readdirSync(outside)).toEqual(["step-9"]);
  });

  it("counts a file that is longer than the memory it takes by that memory", () => {
    leave("sparse", 0);
    truncateSync(join(folder, "sparse"), 1024 * MIB);
    const { bytes } = clearFolder(folder);
    expect(bytes).toBeLessThan(MIB);
  });

  it("does nothing in a folder that does not exist", () => {
    expect(clearFolder(join(root, "missing"))).toEqual({ files: 0, bytes: 0, leftBytes: 0 });
  });
});
