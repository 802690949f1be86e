// Runs under bun, whose file API the agent uses: see under-bun.test.ts.
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { savedEpochPath } from "./gate-socket.ts";
import { SavedEpoch, savedUntilLifted } from "./saved-epoch.ts";

const log = { info: vi.fn(), warn: vi.fn() };
const podUid = randomUUID();
const path = savedEpochPath(podUid);
const savedEpoch = new SavedEpoch(podUid, log);

afterEach(() => {
  vi.clearAllMocks();
  rmSync(path, { recursive: true, force: true });
});

describe("the saved epoch", () => {
  it("is read by the next agent of the same Pod, and by no other Pod", async () => {
    await savedEpoch.save(4);
    await savedEpoch.save(12);
    expect(await new SavedEpoch(podUid, log).read()).toBe(12);
    expect(await new SavedEpoch(randomUUID(), log).read()).toBeUndefined();
  });

  it("is undefined if none was saved", async () => {
    expect(await savedEpoch.read()).toBeUndefined();
  });

  it.each([
    ["is empty", ""],
    ["holds a negative number", "-1"],
    ["ends with a newline", "5\n"],
    ["holds a word", "five"],
    ["holds an exponent", "1e3"],
    ["is large", "9".repeat(100_000)],
  ])("is undefined if the file %s", async (_case, text) => {
    writeFileSync(path, text);
    expect(await savedEpoch.read()).toBeUndefined();
  });

  it("can be removed, more than once", async () => {
    await savedEpoch.save(4);
    await savedEpoch.remove();
    expect(existsSync(path)).toBe(false);
    await savedEpoch.remove();
  });

  it("is missing, with a warning in the log, if it cannot be written", async () => {
    mkdirSync(path);
    await savedEpoch.save(4);
    expect(log.warn).toHaveBeenCalledTimes(1);
    expect(await savedEpoch.read()).toBeUndefined();
  });

  it("rejects its removal while the path still exists", async () => {
    mkdirSync(path);
    await expect(savedEpoch.remove()).rejects.toThrow();
  });
});

describe("an agent that saves its epoch", () => {
  it("does so before it publishes the epoch: a lost response may mean that it was published", async () => {
    const publish = vi.fn(() => Promise.reject(new Error("no response")));
    const steps = savedUntilLifted({ publish, lift: vi.fn() }, savedEpoch);
    await expect(steps.publish(7)).rejects.toThrow("no response");
    expect(publish).toHaveBeenCalledWith(7);
    expect(await savedEpoch.read()).toBe(7);
  });

  it("removes it before the barrier lifts", async () => {
    const lift = vi.fn(() => expect(existsSync(path)).toBe(false));
    await savedEpoch.save(7);
    await savedUntilLifted({ publish: vi.fn(), lift }, savedEpoch).lift();
    expect(lift).toHaveBeenCalledTimes(1);
  });

  it("does not lift the barrier while it cannot remove it", async () => {
    mkdirSync(path);
    const lift = vi.fn();
    await expect(savedUntilLifted({ publish: vi.fn(), lift }, savedEpoch).lift()).rejects.toThrow();
    expect(lift).not.toHaveBeenCalled();
  });
});
