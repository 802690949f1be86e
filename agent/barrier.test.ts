import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
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
    await barrier.listen(socketOf(podUid));
    let answered = 0;
    const early = [1, 2, 3].map(() => askBarrier(podUid).then(() => answered++));
    await sleep(100);
    expect(answered).toBe(0);
    barrier.lift();
    await Promise.all(early);
    await askBarrier(podUid);
  });

  it("reads a request that comes in pieces, and does not care what follows its first line", async () => {
    const { podUid, barrier } = await listening();
    barrier.lift();
    const socket = await connected(podUid);
    for (const piece of ["GET /bar", "rier HTTP/1.1\r", "\nHost: x\r\n", "X-Long: ".padEnd(100_000, "x")])
      socket.write(piece);
    expect(await answerTo(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it.each([
    ["another path", "GET /metrics HTTP/1.1\r\n\r\n"],
    ["no HTTP at all", "\u0016\u0003\u0001\r\n"],
    ["a line without an end", "x".repeat(5_000)],
  ])("answers %s with 404, also when it has lifted", async (_case, request) => {
    const { podUid, barrier } = await listening();
    barrier.lift();
    const socket = await connected(podUid);
    socket.write(request);
    expect(await answerTo(socket)).toMatch(/^HTTP\/1\.1 404 /);
  });

  it("does not mind that whoever asked is gone", async () => {
    const { podUid, barrier } = await listening();
    const gone = await connected(podUid);
    gone.write("GET /barrier HTTP/1.1\r\n\r\n");
    await sleep(50);
    gone.destroy();
    const silent = await connected(podUid);
    silent.destroy();
    await sleep(50);
    barrier.lift();
    await askBarrier(podUid);
  });

  it("says when the agent ends before the barrier lifts", async () => {
    const podUid = randomUUID();
    const dying = createServer((socket) => socket.destroy()).listen(socketOf(podUid));
    await once(dying, "listening");
    await expect(askBarrier(podUid)).rejects.toThrow();
    dying.close();
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
    await barrier.listen(socketOf(podUid));
    await sleep(1_200);
    expect(log.warn).toHaveBeenCalledTimes(1);
    squatter.close();
    await vi.waitFor(() => askBarrier(podUid), { timeout: 5_000 });
  });
});

async function listening() {
  const podUid = randomUUID();
  const barrier = new Barrier(log);
  await barrier.listen(socketOf(podUid));
  return { podUid, barrier };
}

async function connected(podUid: string): Promise<Socket> {
  const socket = connect(socketOf(podUid));
  await once(socket, "connect");
  return socket;
}

async function answerTo(socket: Socket): Promise<string> {
  const [answer] = await once(socket, "data");
  return String(answer);
}
