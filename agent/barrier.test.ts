import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { askBarrier, Barrier, socketOf } from "./barrier.ts";

const log = { info: vi.fn(), warn: vi.fn() };

afterEach(() => {
  vi.clearAllMocks();
});

describe("the barrier", () => {
  it("holds every request until it lifts, then answers all of them and every later one", async () => {
    const podUid = randomUUID();
    const barrier = new Barrier(log);
    barrier.listen(socketOf(podUid));
    let answered = 0;
    const early = [1, 2, 3].map(() => askBarrier(podUid).then(() => answered++));
    await sleep(100);
    expect(answered).toBe(0);
    barrier.lift();
    await Promise.all(early);
    await askBarrier(podUid);
  });

  it("is down for a Pod without an agent", async () => {
    await expect(askBarrier(randomUUID())).rejects.toThrow("ECONNREFUSED");
  });

  it("waits for an address that is taken, and says so once", async () => {
    const podUid = randomUUID();
    const squatter = createServer().listen(socketOf(podUid));
    await once(squatter, "listening");
    const barrier = new Barrier(log);
    barrier.lift();
    barrier.listen(socketOf(podUid));
    await sleep(1_200);
    expect(log.warn).toHaveBeenCalledTimes(1);
    squatter.close();
    await vi.waitFor(() => askBarrier(podUid), { timeout: 5_000 });
  });
});
