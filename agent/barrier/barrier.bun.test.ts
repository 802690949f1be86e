// Runs under bun, whose sockets the barrier uses: see under-bun.test.ts.
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { get } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { eventually } from "../../test/eventually.ts";
import { freePort } from "../../test/free-port.ts";
import { socketPath } from "./agent-files.ts";
import { Barrier, type BarrierAddress, removeSocket } from "./barrier.ts";
import { askAtSocket } from "./probe.ts";

const REQUEST = "GET /barrier HTTP/1.1\r\nHost: pod\r\n\r\n";

const log = { info: vi.fn(), warn: vi.fn() };
const podUids: string[] = [];

afterEach(() => {
  vi.clearAllMocks();
  for (const podUid of podUids.splice(0)) rmSync(socketPath(podUid), { force: true });
});

describe("the barrier at a port", () => {
  it.each(["127.0.0.1", "::1"])("keeps the kubelet's request open until it lifts, at %s", async (host) => {
    const { port, barrier } = await holdingPort();
    const early = [statusAt(host, port), statusAt(host, port)];
    await held(port);
    barrier.lift();
    expect(await Promise.all(early)).toEqual([200, 200]);
    expect(await statusAt(host, port)).toBe(200);
  });

  it("survives requests that end early, and answers the next one", async () => {
    const { port, barrier } = await holdingPort();
    for (let i = 0; i < 3; i++) (await held(port)).destroy();
    barrier.lift();
    expect(await statusAt("127.0.0.1", port)).toBe(200);
  });

  it("answers no other request with success", async () => {
    const { port, barrier } = await holdingPort();
    barrier.lift();
    expect(await statusAt("127.0.0.1", port, "/")).toBe(404);
    expect(await statusAt("127.0.0.1", port, "/barrier/other")).toBe(404);
    const talker = await connected({ port });
    talker.write("lifted".repeat(1_000));
    expect(await textFrom(talker)).toMatch(/^HTTP\/1\.1 404 /);
  });

  it("waits for the whole first line of a request", async () => {
    const { port, barrier } = await holdingPort();
    barrier.lift();
    const slow = await connected({ port });
    slow.write(REQUEST.slice(0, 10));
    await statusAt("127.0.0.1", port);
    slow.write(REQUEST.slice(10));
    expect(await textFrom(slow)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("drops the oldest of too many connections, and so never the kubelet's next one", async () => {
    const { port, barrier } = await holdingPort();
    const first = await held(port);
    const closed = new Promise((resolve) => first.once("close", resolve));
    for (let i = 0; i < 16; i++) await held(port);
    await closed;
    const kubelet = statusAt("127.0.0.1", port);
    await held(port);
    barrier.lift();
    expect(await kubelet).toBe(200);
  });

  it("retries while its port is taken, and says once which setting changes it", async () => {
    const port = await freePort();
    const other = createServer().listen(port);
    await once(other, "listening");
    const barrier = new Barrier(log);
    await barrier.listen({ port });
    await barrier.listen({ port }, log.warn.mock.calls[0]?.[1]?.reason);
    expect(log.warn.mock.calls.map(([message]) => message)).toEqual([
      "cannot listen for the startup probe, retrying; see injection.agentPort",
    ]);
    other.close();
    barrier.lift();
    await eventually(async () => expect(await statusAt("127.0.0.1", port)).toBe(200));
  });
});

describe("the barrier at a socket", () => {
  it("holds every probe until it lifts, then releases all of them and every later one", async () => {
    const { podUid, barrier } = await holdingSocket();
    const passed = vi.fn();
    const early = [1, 2, 3].map(() => askAtSocket(podUid).then(passed));
    await acknowledged({ path: socketPath(podUid) });
    expect(passed).not.toHaveBeenCalled();
    barrier.lift();
    await Promise.all(early);
    await askAtSocket(podUid);
  });

  it("leaves no socket behind when its agent cleans up", async () => {
    const { podUid } = await holdingSocket();
    await removeSocket(podUid);
    expect(existsSync(socketPath(podUid))).toBe(false);
    await removeSocket(podUid);
  });

  it("is open to its own user only", async () => {
    const { podUid } = await holdingSocket();
    expect(statSync(socketPath(podUid)).mode & 0o022).toBe(0);
  });

  it("replaces the socket of an agent that was killed", async () => {
    const podUid = newPod();
    const listenAndDie = `require("net").createServer().listen(${JSON.stringify(socketPath(podUid))}, () =>
      process.kill(process.pid, "SIGKILL"))`;
    const killed = spawnSync(process.execPath, ["-e", listenAndDie]);
    expect(killed.signal).toBe("SIGKILL");
    expect(existsSync(socketPath(podUid))).toBe(true);
    const { barrier } = await holdingSocket(podUid);
    barrier.lift();
    await askAtSocket(podUid);
    expect(log.warn).not.toHaveBeenCalled();
  });

  it("retries while its path is taken", async () => {
    const podUid = newPod();
    mkdirSync(socketPath(podUid));
    const { barrier } = await holdingSocket(podUid);
    expect(log.warn).toHaveBeenCalledTimes(1);
    rmdirSync(socketPath(podUid));
    barrier.lift();
    await eventually(() => askAtSocket(podUid));
  });
});

describe("the probe at a socket", () => {
  it("fails if there is no agent", async () => {
    await expect(askAtSocket(newPod())).rejects.toThrow("no agent holds the barrier");
  });

  it("fails when the agent ends, and accepts no other answer", async () => {
    const podUid = newPod();
    for (const message of ["", "HTTP/1.1 503 not yet", "HTTP/1.1 2"]) {
      const dying = createServer((socket) => socket.resume().end(message)).listen(socketPath(podUid));
      await once(dying, "listening");
      await expect(askAtSocket(podUid)).rejects.toThrow("the agent ended before the barrier lifted");
      dying.close();
      await once(dying, "close");
    }
  });
});

function newPod(): string {
  const podUid = randomUUID();
  podUids.push(podUid);
  return podUid;
}

async function holding(address: BarrierAddress): Promise<Barrier> {
  const barrier = new Barrier(log);
  await barrier.listen(address);
  return barrier;
}

async function holdingPort() {
  const port = await freePort();
  return { port, barrier: await holding({ port }) };
}

async function holdingSocket(podUid: string = newPod()) {
  return { podUid, barrier: await holding({ podUid }) };
}

async function connected(address: { readonly port: number } | { readonly path: string }): Promise<Socket> {
  const socket = connect("port" in address ? { ...address, host: "127.0.0.1" } : address);
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** A request that the barrier holds. */
async function held(port: number): Promise<Socket> {
  const socket = await connected({ port });
  socket.write(REQUEST);
  await acknowledged({ port });
  return socket;
}

/** Resolves when the barrier has read what other connections sent before: it answers in order. */
async function acknowledged(address: { readonly port: number } | { readonly path: string }): Promise<void> {
  for (let i = 0; i < 2; i++) {
    const socket = await connected(address);
    socket.write("GET /nothing HTTP/1.1\r\n\r\n");
    await textFrom(socket);
  }
}

/** The answer to a request as the kubelet sends it. */
function statusAt(host: string, port: number, path = "/barrier"): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { "user-agent": "kube-probe/1.36", accept: "*/*", connection: "close" };
    get({ host, port, path, headers }, (response) => resolve(response.resume().statusCode)).on("error", reject);
  });
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
