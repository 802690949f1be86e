// Runs under bun, whose sockets these are: see under-bun.test.ts.
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Barrier, liftOf, removeSocket } from "./barrier.ts";
import { waitAtGate } from "./gate.ts";
import { socketOf, WAIT_ON } from "./socket-name.ts";

const log = { info: vi.fn(), warn: vi.fn() };
const onGateLost = vi.fn();
const podUids: string[] = [];

/** As the gate asks. */
const lift = (podUid: string) => liftOf(podUid, 60);

afterEach(() => {
  vi.clearAllMocks();
  for (const podUid of podUids.splice(0)) rmSync(socketOf(podUid), { force: true });
});

describe("the barrier", () => {
  it("holds everybody until it lifts, then lets all of them through and everybody later", async () => {
    const { podUid, barrier } = await holding();
    let through = 0;
    const early = [1, 2, 3].map(() => lift(podUid).then(() => through++));
    await sleep(100);
    expect(through).toBe(0);
    barrier.lift();
    await Promise.all(early);
    await lift(podUid);
  });

  it("does not care what is said to it", async () => {
    const { podUid, barrier } = await holding();
    const talker = await connected(podUid);
    talker.write("lifted\n".repeat(10_000));
    await sleep(50);
    barrier.lift();
    const [words] = await once(talker, "data");
    expect(String(words)).toBe("lifted\n");
  });

  it("says when its gate is gone before it lifts, and not when it goes because of that", async () => {
    const { podUid, barrier } = await holding();
    const gate = await connected(podUid);
    await sleep(50);
    expect(onGateLost).not.toHaveBeenCalled();
    gate.destroy();
    await sleep(50);
    expect(onGateLost.mock.calls).toEqual([["ended"]]);
    const next = lift(podUid);
    await sleep(50);
    barrier.lift();
    await next;
    await sleep(50);
    expect(onGateLost).toHaveBeenCalledTimes(1);
  });

  it("says when no gate comes in time", async () => {
    await holding(newPod(), 200);
    await sleep(100);
    expect(onGateLost).not.toHaveBeenCalled();
    await sleep(300);
    expect(onGateLost.mock.calls).toEqual([["never came"]]);
  });

  it("misses no gate that came, or that it no longer needs", async () => {
    const { podUid } = await holding(newPod(), 200);
    await connected(podUid);
    const { barrier } = await holding(newPod(), 200);
    barrier.lift();
    await sleep(400);
    expect(onGateLost).not.toHaveBeenCalled();
  });

  it("leaves no socket behind when its agent tidies up", async () => {
    const { podUid } = await holding();
    await removeSocket(podUid);
    expect(existsSync(socketOf(podUid))).toBe(false);
    await removeSocket(podUid);
  });

  it("is open to its own user alone", async () => {
    const { podUid } = await holding();
    expect(statSync(socketOf(podUid)).mode & 0o022).toBe(0);
  });

  it("takes the place of one whose agent was killed", async () => {
    const podUid = newPod();
    const killed = spawnSync(process.execPath, [
      "-e",
      `require("net").createServer().listen(${JSON.stringify(socketOf(podUid))}, () => process.kill(process.pid, "SIGKILL"))`,
    ]);
    expect(killed.signal).toBe("SIGKILL");
    expect(existsSync(socketOf(podUid))).toBe(true);
    const { barrier } = await holding(podUid);
    barrier.lift();
    await lift(podUid);
    expect(log.warn).not.toHaveBeenCalled();
  });

  it("waits for a place that is taken, and says so once", async () => {
    const podUid = newPod();
    mkdirSync(socketOf(podUid));
    const { barrier } = await holding(podUid);
    barrier.lift();
    await sleep(1_200);
    expect(log.warn).toHaveBeenCalledTimes(1);
    rmdirSync(socketOf(podUid));
    await sleep(600);
    await lift(podUid);
  });
});

describe("the gate", () => {
  it("waits for an agent that comes late", async () => {
    const podUid = newPod();
    let open = false;
    const gate = waitAtGate(podUid).then(() => {
      open = true;
    });
    await sleep(100);
    const { barrier } = await holding(podUid);
    await sleep(100);
    expect(open).toBe(false);
    barrier.lift();
    await gate;
  });

  it("fails where no agent comes", async () => {
    await expect(waitAtGate(newPod(), 0.1)).rejects.toThrow("no agent holds the barrier");
  });

  it("fails when the agent ends, and takes other words for no", async () => {
    const podUid = newPod();
    for (const words of ["", "lifted by somebody else\n", `${WAIT_ON}lifted`]) {
      const dying = createServer((socket) => socket.end(words)).listen(socketOf(podUid));
      await once(dying, "listening");
      await expect(waitAtGate(podUid)).rejects.toThrow("the agent ended before the barrier lifted");
      dying.close();
      await once(dying, "close");
    }
  });

  // Bun counts the seconds of a socket in steps of about four.
  it("fails when the agent says nothing for long, but not while it does", async () => {
    const { podUid, barrier } = await holding();
    let failed: string | undefined;
    const gate = waitAtGate(podUid, 8).catch((error: unknown) => {
      failed = String(error);
    });
    for (let word = 0; word < 8; word += 1) {
      await sleep(2_000);
      barrier.waitOn();
    }
    expect(failed).toBeUndefined();
    await gate;
    expect(failed).toContain("the agent has said nothing for 8 s");
  }, 60_000);
});

function newPod(): string {
  const podUid = randomUUID();
  podUids.push(podUid);
  return podUid;
}

async function holding(podUid: string = newPod(), gateComesMs?: number) {
  const barrier = new Barrier({ onGateLost, log, ...(gateComesMs === undefined ? {} : { gateComesMs }) });
  await barrier.listen(podUid);
  return { podUid, barrier };
}

async function connected(podUid: string): Promise<Socket> {
  const socket = connect(socketOf(podUid));
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}
