// Runs under bun, whose sockets the barrier uses: see under-bun.test.ts.
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { eventually } from "../../test/eventually.ts";
import { Barrier, removeSocket } from "./barrier.ts";
import { waitAtGate, waitForLift } from "./gate.ts";
import { KEEP_WAITING, LIFTED, socketPath } from "./gate-socket.ts";

const log = { info: vi.fn(), warn: vi.fn() };
const onGateLost = vi.fn();
const podUids: string[] = [];

/** Far longer than any test waits for it. */
const GATE_TIMEOUT_SECONDS = 60;

const lift = (podUid: string) => waitForLift(podUid, GATE_TIMEOUT_SECONDS);

afterEach(() => {
  vi.useRealTimers();
  vi.clearAllMocks();
  for (const podUid of podUids.splice(0)) rmSync(socketPath(podUid), { force: true });
});

describe("the barrier", () => {
  it("holds every gate until it lifts, then releases all of them and every later one", async () => {
    const { podUid, barrier } = await holding();
    let released = 0;
    const early = [1, 2, 3].map(() => lift(podUid).then(() => released++));
    await acknowledged(podUid, barrier);
    expect(released).toBe(0);
    barrier.lift();
    await Promise.all(early);
    await lift(podUid);
  });

  it("ignores what a gate sends", async () => {
    const { podUid, barrier } = await holding();
    const talker = await connected(podUid);
    talker.write("lifted\n".repeat(10_000));
    await acknowledged(podUid, barrier);
    barrier.lift();
    expect((await textFrom(talker)).replaceAll(KEEP_WAITING, "")).toBe(LIFTED);
  });

  it("reports a gate that disconnects before the barrier lifts, and not one that disconnects after", async () => {
    const { podUid, barrier } = await holding();
    const gate = await connected(podUid);
    await acknowledged(podUid, barrier);
    onGateLost.mockClear();
    gate.destroy();
    await eventually(() => expect(onGateLost.mock.calls).toEqual([["ended"]]));
    const next = await connected(podUid);
    await acknowledged(podUid, barrier);
    onGateLost.mockClear();
    barrier.lift();
    await textFrom(next);
    // A round trip after the gate is gone: the barrier has handled its disconnect by then.
    await lift(podUid);
    expect(onGateLost).not.toHaveBeenCalled();
  });

  it("reports a gate that never connects", async () => {
    vi.useFakeTimers();
    await holding();
    vi.advanceTimersByTime(59_000);
    expect(onGateLost).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1_000);
    expect(onGateLost.mock.calls).toEqual([["never connected"]]);
  });

  it("does not miss a gate that connected, or one that is no longer needed", async () => {
    vi.useFakeTimers();
    const withGate = await holding();
    await acknowledged(withGate.podUid, withGate.barrier);
    const lifted = await holding();
    lifted.barrier.lift();
    vi.advanceTimersByTime(60_000);
    expect(onGateLost).not.toHaveBeenCalled();
  });

  it("leaves no socket behind when its agent cleans up", async () => {
    const { podUid } = await holding();
    await removeSocket(podUid);
    expect(existsSync(socketPath(podUid))).toBe(false);
    await removeSocket(podUid);
  });

  it("is open to its own user only", async () => {
    const { podUid } = await holding();
    expect(statSync(socketPath(podUid)).mode & 0o022).toBe(0);
  });

  it("replaces the socket of an agent that was killed", async () => {
    const podUid = newPod();
    const listenAndDie = `require("net").createServer().listen(${JSON.stringify(socketPath(podUid))}, () =>
      process.kill(process.pid, "SIGKILL"))`;
    const killed = spawnSync(process.execPath, ["-e", listenAndDie]);
    expect(killed.signal).toBe("SIGKILL");
    expect(existsSync(socketPath(podUid))).toBe(true);
    const { barrier } = await holding(podUid);
    barrier.lift();
    await lift(podUid);
    expect(log.warn).not.toHaveBeenCalled();
  });

  it("retries while its path is taken, and logs it once", async () => {
    const podUid = newPod();
    mkdirSync(socketPath(podUid));
    const { barrier } = await holding(podUid);
    expect(log.warn).toHaveBeenCalledTimes(1);
    // A second attempt before the path is free: the same reason is not logged again.
    await barrier.listen(podUid, log.warn.mock.calls[0]?.[1]?.reason);
    expect(log.warn).toHaveBeenCalledTimes(1);
    rmdirSync(socketPath(podUid));
    barrier.lift();
    await eventually(() => lift(podUid));
  });
});

describe("the gate", () => {
  it("waits for an agent that starts late", async () => {
    const podUid = newPod();
    const passed = vi.fn();
    const gate = waitAtGate(podUid).then(passed);
    const { barrier } = await holding(podUid);
    await acknowledged(podUid, barrier);
    expect(passed).not.toHaveBeenCalled();
    barrier.lift();
    await gate;
  });

  it("fails if no agent starts", async () => {
    await expect(waitAtGate(newPod(), 0.1)).rejects.toThrow("no agent holds the barrier");
  });

  it("fails when the agent ends, and accepts no other message", async () => {
    const podUid = newPod();
    for (const message of ["", "lifted by another process\n", `${KEEP_WAITING}lifted`]) {
      const dying = createServer((socket) => socket.end(message)).listen(socketPath(podUid));
      await once(dying, "listening");
      await expect(waitAtGate(podUid)).rejects.toThrow("the agent ended before the barrier lifted");
      dying.close();
      await once(dying, "close");
    }
  });

  // No fake clock reaches bun's socket timeouts. They are counted in steps of about four seconds.
  it("fails when the agent is silent for too long, and not while the agent confirms", async () => {
    const { podUid, barrier } = await holding();
    let confirmations = 0;
    const timer = setInterval(() => {
      barrier.keepWaiting();
      if (++confirmations === 10) clearInterval(timer);
    }, 1_000);
    await expect(waitAtGate(podUid, 8)).rejects.toThrow("no message from the agent for 8 s");
    // The gate outlived its own timeout for as long as it was confirmed.
    expect(confirmations).toBe(10);
  });
});

function newPod(): string {
  const podUid = randomUUID();
  podUids.push(podUid);
  return podUid;
}

async function holding(podUid: string = newPod()) {
  const barrier = new Barrier({ onGateLost, log });
  await barrier.listen(podUid);
  return { podUid, barrier };
}

async function connected(podUid: string): Promise<Socket> {
  const socket = connect(socketPath(podUid));
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Resolves when the barrier has accepted this connection, and so every earlier one: it reads them in order. */
async function acknowledged(podUid: string, barrier: Barrier): Promise<void> {
  const socket = await connected(podUid);
  let isConfirmed = false;
  socket.once("data", () => {
    isConfirmed = true;
  });
  while (!isConfirmed) {
    barrier.keepWaiting();
    await setImmediate();
  }
}

/** Everything that the agent sends on the connection until it closes it. */
async function textFrom(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  await once(socket, "close");
  return text;
}
