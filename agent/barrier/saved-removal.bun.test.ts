// Runs under bun, whose file API the agent uses: see under-bun.test.ts.
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { savedRemovalPath } from "./agent-files.ts";
import { SavedRemoval } from "./saved-removal.ts";

const log = { info: vi.fn(), warn: vi.fn() };
const podUid = randomUUID();
const path = savedRemovalPath(podUid);
const saved = new SavedRemoval(podUid, log);
const removal = { since: 1_763_460_000, confirmed: 1_763_460_120 };

afterEach(() => {
  vi.clearAllMocks();
  rmSync(path, { recursive: true, force: true });
});

describe("the saved removal", () => {
  it("is read by the next agent of the same Pod, and by no other Pod", async () => {
    await saved.save(removal);
    expect(await new SavedRemoval(podUid, log).read()).toEqual(removal);
    expect(await new SavedRemoval(randomUUID(), log).read()).toBeUndefined();
  });

  it("is gone once there is nothing to save", async () => {
    await saved.save(removal);
    await saved.save(undefined);
    expect(existsSync(path)).toBe(false);
    await saved.save(undefined);
    expect(log.warn).not.toHaveBeenCalled();
  });

  it.each([
    ["is empty", ""],
    ["holds one time only", "1763460000"],
    ["holds words", "now then"],
    ["holds negative numbers", "-1 -1"],
    ["is large", "9".repeat(100_000)],
  ])("is undefined if the file %s", async (_case, text) => {
    writeFileSync(path, text);
    expect(await saved.read()).toBeUndefined();
  });

  it("is missing, with a warning in the log, if it cannot be written", async () => {
    mkdirSync(path);
    await saved.save(removal);
    expect(log.warn).toHaveBeenCalledTimes(1);
    expect(await saved.read()).toBeUndefined();
  });
});
