// Runs under bun, whose file API the agent uses: see under-bun.test.ts.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { clearSharedMemory } from "./shared-memory.ts";

const log = { info: vi.fn(), warn: vi.fn() };
const POD = "4b1f";
const MARK = `reprise-agent-${POD}.seen`;

let folder: string;

afterEach(() => {
  vi.clearAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

/** One start of the agent. */
const start = (folders = [folder]) => clearSharedMemory(folders, POD, log);

/** As the user of the image, if the tests run as root. */
async function withoutRoot<T>(step: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_532);
  try {
    return await step();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

// A folder of another file system is listed every time.
describe.each(["/dev/shm", tmpdir()])("shared memory in %s", (parent) => {
  beforeEach(() => {
    folder = mkdtempSync(join(parent, "reprise-shm-"));
  });

  it("is not touched before the first start of a Pod", async () => {
    writeFileSync(join(folder, "psm_1"), "of a container before the agent");
    expect(await start()).toBeUndefined();
    expect(readdirSync(folder).sort()).toEqual(["psm_1", MARK].sort());
  });

  it("is cleared at every later start, which the log says", async () => {
    await start();
    writeFileSync(join(folder, "psm_1"), "left by a worker");
    mkdirSync(join(folder, ".cache"));
    writeFileSync(join(folder, ".cache", "psm_2"), "left by a worker");
    expect(await start()).toBe(0);
    expect(readdirSync(folder).sort()).toEqual([".cache", MARK].sort());
    expect(log.info).toHaveBeenCalledWith("cleared shared memory", expect.objectContaining({ folder, files: 2 }));
  });

  it("is left alone, and nothing is logged, if it is empty", async () => {
    await start();
    expect(await start()).toBe(0);
    expect(readdirSync(folder)).toEqual([MARK]);
    expect(log.info).not.toHaveBeenCalled();
    expect(log.warn).not.toHaveBeenCalled();
  });

  it("is measured, which the log says, where the files belong to another user", async () => {
    await start();
    const MIB = 1024 * 1024;
    const foreign = join(folder, "of-another-user");
    mkdirSync(foreign);
    writeFileSync(join(foreign, "psm_1"), Buffer.alloc(MIB, 1));
    // Only root can remove a file from a folder that is not writable.
    chmodSync(foreign, 0o555);
    chmodSync(folder, 0o755);
    const left = await withoutRoot(start);
    chmodSync(foreign, 0o755);
    expect(left).toBe(MIB);
    expect(log.warn).toHaveBeenCalledWith("an earlier run left shared memory that the agent may not clear", {
      folder,
      bytes: MIB,
    });
  });

  it("is cleared in every folder, also if one of them cannot be used", async () => {
    const missing = join(folder, "missing", "folder");
    writeFileSync(join(folder, "missing"), "a file in the place of the folder");
    await start([missing, folder]);
    expect(log.warn).toHaveBeenCalledWith("cannot clear shared memory", expect.objectContaining({ folder: missing }));
    expect(await start([missing, folder])).toBe(0);
    expect(readdirSync(folder)).toEqual([MARK]);
  });

  it("is not touched if there is no folder to clear", async () => {
    expect(await start([])).toBeUndefined();
  });
});
