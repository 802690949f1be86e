// Runs under bun, whose files these are: see under-bun.test.ts.
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { KeptEpoch, keptBetween } from "./kept-epoch.ts";
import { keptEpochOf } from "./socket-name.ts";

const log = { info: vi.fn(), warn: vi.fn() };
const podUid = randomUUID();
const path = keptEpochOf(podUid);
const kept = new KeptEpoch(podUid, log);

afterEach(() => {
  vi.clearAllMocks();
  rmSync(path, { recursive: true, force: true });
});

describe("the epoch that an agent keeps", () => {
  it("is there for the next agent of its Pod, and for no other Pod's", async () => {
    await kept.keep(4);
    await kept.keep(12);
    expect(await new KeptEpoch(podUid, log).read()).toBe(12);
    expect(await new KeptEpoch(randomUUID(), log).read()).toBeUndefined();
  });

  it("is nothing where there is none", async () => {
    expect(await kept.read()).toBeUndefined();
  });

  it.each(["", "-1", "5\n", "five", "1e3", "9".repeat(100_000)])("is nothing where the file says %j", async (text) => {
    writeFileSync(path, text);
    expect(await kept.read()).toBeUndefined();
  });

  it("is gone once it is forgotten, as often as one likes", async () => {
    await kept.keep(4);
    await kept.forget();
    expect(existsSync(path)).toBe(false);
    await kept.forget();
  });

  it("is missing, with a word about it, where it cannot be written", async () => {
    mkdirSync(path);
    await kept.keep(4);
    expect(log.warn).toHaveBeenCalledTimes(1);
    expect(await kept.read()).toBeUndefined();
  });

  it("is not forgotten as long as something is there", async () => {
    mkdirSync(path);
    await expect(kept.forget()).rejects.toThrow();
  });
});

describe("an agent that keeps its epoch", () => {
  it("does so before it asks to publish it: an answer that is lost may mean that it is published", async () => {
    const publish = vi.fn(() => Promise.reject(new Error("no answer")));
    const steps = keptBetween({ publish, lift: vi.fn() }, kept);
    await expect(steps.publish(7)).rejects.toThrow("no answer");
    expect(publish).toHaveBeenCalledWith(7);
    expect(await kept.read()).toBe(7);
  });

  it("has forgotten it when the barrier lifts", async () => {
    const lift = vi.fn(() => expect(existsSync(path)).toBe(false));
    await kept.keep(7);
    await keptBetween({ publish: vi.fn(), lift }, kept).lift();
    expect(lift).toHaveBeenCalledTimes(1);
  });

  it("does not lift the barrier as long as it cannot forget it", async () => {
    mkdirSync(path);
    const lift = vi.fn();
    await expect(keptBetween({ publish: vi.fn(), lift }, kept).lift()).rejects.toThrow();
    expect(lift).not.toHaveBeenCalled();
  });
});
