import type { ServerResponse } from "node:http";
import { afterEach, expect, test, vi } from "vitest";
import type { Change } from "../api/change.ts";
import type { JsonObject } from "../json/types.ts";
import { ApiError } from "./api-error.ts";
import { pause } from "./clock.ts";
import { type CollectionReader, Reflector, type ReflectorOptions, type ReflectorTiming } from "./reflector.ts";
import { json, type ScriptedServer, scriptedServer } from "./testing/scripted-server.ts";
import { VirtualClock } from "./testing/virtual-clock.ts";

const QUICK: Partial<ReflectorTiming> = { backoff: { initialMs: 5, maxMs: 20 }, healthyMs: 10_000 };

const reflectors: Reflector<string>[] = [];
afterEach(async () => {
  await Promise.all(reflectors.splice(0).map((reflector) => reflector.stop()));
});

function pod(name: string, resourceVersion: number, uid = `uid-${name}`): JsonObject {
  return { metadata: { namespace: "ns", name, uid, resourceVersion: String(resourceVersion) } };
}

function list(resourceVersion: number, items: JsonObject[], next?: string) {
  return { metadata: { resourceVersion: String(resourceVersion), ...(next ? { continue: next } : {}) }, items };
}

function send(response: ServerResponse, type: string, object: JsonObject): void {
  response.write(`${JSON.stringify({ type, object })}\n`);
}

function eventLine(type: string, object: JsonObject): Uint8Array {
  return Buffer.from(`${JSON.stringify({ type, object })}\n`);
}

const BOOKMARK = eventLine("BOOKMARK", { metadata: { resourceVersion: "1" } });

type Watch = (signal: AbortSignal, turn: number) => AsyncIterable<Uint8Array>;

/** A client without a network, so that a virtual clock controls all time. Lists are empty. */
class InMemoryClient implements CollectionReader {
  readonly server = "memory";
  readonly clock = new VirtualClock();
  readonly listedAt: number[] = [];
  readonly watchedAt: number[] = [];
  readonly watchedFrom: unknown[] = [];
  readonly #watch: Watch;

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  async request(): Promise<JsonObject> {
    this.listedAt.push(this.clock.now());
    return list(1, []);
  }

  async stream(_path: string, { query, signal }: Parameters<CollectionReader["stream"]>[1]) {
    this.watchedAt.push(this.clock.now());
    this.watchedFrom.push(query["resourceVersion"]);
    return this.#watch(signal, this.watchedAt.length);
  }
}

async function aborted(signal: AbortSignal): Promise<never> {
  return await new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

function reflect(server: { readonly client: CollectionReader }, options: Partial<ReflectorOptions<string>> = {}) {
  const changes: string[] = [];
  const errors: string[] = [];
  const counts = { relists: 0, reconnects: 0 };
  const reasons: string[] = [];
  const reflector = new Reflector<string>({
    client: server.client,
    path: "/api/v1/pods",
    project: (raw) => JSON.stringify(raw["metadata"]),
    onChange: (change: Change<string>) => {
      const version = change.kind === "deleted" ? "" : `@${change.resourceVersion}`;
      changes.push(`${change.kind} ${change.key}${version}`);
    },
    onError: (error, stage) => errors.push(`${stage}: ${error instanceof Error ? error.message : error}`),
    onRelist: () => {
      counts.relists += 1;
    },
    onReconnect: (reason) => {
      counts.reconnects += 1;
      reasons.push(reason);
    },
    timing: QUICK,
    ...options,
  });
  reflectors.push(reflector);
  reflector.start();
  return { reflector, changes, errors, counts, reasons };
}

const watches = (server: ScriptedServer) => server.requests.filter((line) => line.includes("watch=true"));
const versions = (server: ScriptedServer) =>
  watches(server).map((line) => new URL(line.slice(4), "http://x").searchParams.get("resourceVersion"));

test("a list is read page by page and delivered as a whole, then watched from its version", async () => {
  await using server = await scriptedServer((_request, response, url) => {
    if (url.searchParams.has("watch")) response.writeHead(200).flushHeaders();
    else if (url.searchParams.has("continue")) json(response, 200, list(7, [pod("b", 2)]));
    else json(response, 200, list(7, [pod("a", 1)], "token"));
  });
  const { reflector, changes } = reflect(server, { labelSelector: "x=y" });
  expect(reflector.synced).toBe(false);
  await reflector.whenSynced();
  expect(reflector.synced).toBe(true);
  expect(changes).toEqual(["added ns/a@1", "added ns/b@2"]);
  expect(reflector.get("ns/a")).toContain('"uid-a"');
  expect([...reflector.values()]).toHaveLength(2);
  await vi.waitFor(() => expect(versions(server)).toEqual(["7"]));
  expect(server.requests[0]).toBe("GET /api/v1/pods?labelSelector=x%3Dy&limit=500");
  expect(server.requests[1]).toContain("continue=token");
  expect(server.requests[2]).toContain("allowWatchBookmarks=true");
  const seconds = Number(new URL(`http://x${server.requests[2]?.slice(4)}`).searchParams.get("timeoutSeconds"));
  expect(seconds).toBeGreaterThanOrEqual(300);
  expect(seconds).toBeLessThanOrEqual(600);
});

test("a lost watch resumes from the last event or bookmark, without a list and without repeats", async () => {
  let turn = 0;
  await using server = await scriptedServer((_request, response, url) => {
    if (!url.searchParams.has("watch")) {
      json(response, 200, list(1, []));
      return;
    }
    turn += 1;
    response.writeHead(200);
    if (turn === 1) {
      send(response, "ADDED", pod("a", 5));
      response.write('{"type":"MODIFIED","object":{"metadata":{"na', () => response.destroy());
    } else if (turn === 2) {
      // The same version once more must not reach the consumer.
      send(response, "MODIFIED", pod("a", 5));
      send(response, "BOOKMARK", { metadata: { resourceVersion: "9" } });
      response.end();
    } else send(response, "DELETED", pod("a", 12));
  });
  const { changes, counts, errors } = reflect(server);
  await vi.waitFor(() => expect(changes).toEqual(["added ns/a@5", "deleted ns/a"]));
  expect(versions(server)).toEqual(["1", "5", "9"]);
  expect(counts).toEqual({ relists: 0, reconnects: 2 });
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatch(/^watch: /);
});

test.each(["an ERROR event", "an HTTP status"])(
  "410 as %s leads to a list whose differences are delivered",
  async (form) => {
    let lists = 0;
    await using server = await scriptedServer((_request, response, url) => {
      if (!url.searchParams.has("watch")) {
        lists += 1;
        json(response, 200, lists === 1 ? list(5, [pod("a", 1), pod("b", 2)]) : list(20, [pod("a", 1), pod("c", 15)]));
        return;
      }
      const gone: JsonObject = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
      if (url.searchParams.get("resourceVersion") !== "5") response.writeHead(200).flushHeaders();
      else if (form === "an HTTP status") json(response, 410, gone);
      else {
        response.writeHead(200);
        send(response, "ERROR", gone);
      }
    });
    const { changes, counts, errors, reasons } = reflect(server);
    await vi.waitFor(() => expect(versions(server)).toEqual(["5", "20"]));
    expect(reasons).toEqual(["expired"]);
    expect(changes.slice(2)).toEqual(["deleted ns/b", "added ns/c@15"]);
    expect(counts.relists).toBe(1);
    expect(errors).toEqual([]);
  },
);

test("a list that expires between two pages is taken again in one page", async () => {
  await using server = await scriptedServer((_request, response, url) => {
    if (url.searchParams.has("watch")) response.writeHead(200).flushHeaders();
    else if (url.searchParams.has("continue")) json(response, 410, { kind: "Status", code: 410, reason: "Expired" });
    else if (url.searchParams.has("limit")) json(response, 200, list(5, [pod("a", 1)], "token"));
    else json(response, 200, list(8, [pod("a", 1), pod("b", 2)]));
  });
  const { reflector, changes } = reflect(server);
  await reflector.whenSynced();
  expect(changes).toEqual(["added ns/a@1", "added ns/b@2"]);
});

test("an unexpected error inside the stream is reported, and a list follows", async () => {
  let lists = 0;
  await using server = await scriptedServer((_request, response, url) => {
    if (!url.searchParams.has("watch")) json(response, 200, list(++lists, []));
    else if (lists === 1) {
      response.writeHead(200);
      send(response, "ERROR", { kind: "Status", code: 500, message: "unable to decode" });
    } else response.writeHead(200).flushHeaders();
  });
  const { errors } = reflect(server);
  await vi.waitFor(() => expect(versions(server)).toEqual(["1", "2"]));
  expect(errors).toEqual([expect.stringContaining("unable to decode")]);
});

test("a watch that stays open but silent is replaced, and any data counts as a sign of life", async () => {
  const idleMs = 300;
  const client: InMemoryClient = new InMemoryClient(async function* (signal, turn) {
    // Twelve bookmarks: longer than the idle timeout in all, but never silent for that long.
    for (let sent = 0; turn === 1 && sent < 12; sent++) {
      await pause(client.clock, idleMs - 1, signal);
      yield eventLine("BOOKMARK", { metadata: { resourceVersion: String(100 + sent) } });
    }
    await aborted(signal);
  });
  const { errors, counts, reasons } = reflect({ client }, { clock: client.clock, timing: { ...QUICK, idleMs } });
  await client.clock.advance(12 * (idleMs - 1) + idleMs - 1);
  expect(client.watchedFrom).toEqual(["1"]);
  await client.clock.advance(50);
  expect(client.watchedFrom).toEqual(["1", "111"]);
  expect(reasons).toEqual(["idle"]);
  expect(counts.relists).toBe(0);
  expect(errors).toEqual([]);
});

test("a consumer that throws is reported and does not stop the flow", async () => {
  await using server = await scriptedServer((_request, response, url) => {
    if (!url.searchParams.has("watch")) json(response, 200, list(1, [pod("a", 1)]));
    else {
      response.writeHead(200);
      send(response, "ADDED", pod("b", 2));
    }
  });
  const { reflector, errors } = reflect(server, {
    onChange: ({ key }) => {
      throw new Error(`cannot digest ${key}`);
    },
  });
  await vi.waitFor(() => expect(errors).toEqual(["consume: cannot digest ns/a", "consume: cannot digest ns/b"]));
  expect(reflector.size).toBe(2);
  expect(watches(server)).toHaveLength(1);
});

test("a deletion is delivered even if the last state cannot be projected", async () => {
  await using server = await scriptedServer((_request, response, url) => {
    if (!url.searchParams.has("watch")) json(response, 200, list(1, [pod("a", 1)]));
    else {
      response.writeHead(200);
      send(response, "DELETED", pod("a", 2));
    }
  });
  const { reflector, changes, errors } = reflect(server, {
    project: (raw) => {
      if (JSON.stringify(raw).includes('"2"')) throw new Error("odd");
      return "";
    },
  });
  await vi.waitFor(() => expect(changes).toEqual(["added ns/a@1", "deleted ns/a"]));
  expect(reflector.size).toBe(0);
  expect(errors).toEqual(["project: odd"]);
});

test("an object that cannot be projected is reported and leaves the others alone", async () => {
  await using server = await scriptedServer((_request, response, url) => {
    if (!url.searchParams.has("watch")) json(response, 200, list(1, [pod("odd", 1), pod("b", 1)]));
    else {
      response.writeHead(200);
      send(response, "ADDED", pod("c", 2));
    }
  });
  const { changes, errors } = reflect(server, {
    project: (raw) => {
      if (JSON.stringify(raw).includes("odd")) throw new Error("odd");
      return "";
    },
  });
  await vi.waitFor(() => expect(changes).toEqual(["added ns/b@1", "added ns/c@2"]));
  expect(errors).toEqual(["project: odd"]);
});

test("a server that closes every watch at once is retried with backoff", async () => {
  const client = new InMemoryClient(async function* () {});
  const timing = { healthyMs: 10_000, backoff: { initialMs: 100, maxMs: 10_000 } };
  reflect({ client }, { clock: client.clock, timing, random: () => 1 });
  await client.clock.advance(1_600);
  expect(client.watchedAt).toEqual([0, 100, 300, 700, 1_500]);
});

test("a healthy watch that the server ends is resumed at once", async () => {
  const client: InMemoryClient = new InMemoryClient(async function* (signal) {
    yield BOOKMARK;
    await pause(client.clock, 60, signal);
  });
  const timing = { healthyMs: 30, backoff: { initialMs: 60_000, maxMs: 60_000 } };
  reflect({ client }, { clock: client.clock, timing });
  await client.clock.advance(150);
  expect(client.watchedAt).toEqual([0, 60, 120]);
});

test("a watch that the server ends after a burst is resumed at once, each time from the last event", async () => {
  let version = 1;
  await using server = await scriptedServer((_request, response, url) => {
    if (!url.searchParams.has("watch")) {
      json(response, 200, list(version, []));
      return;
    }
    response.writeHead(200);
    if (version >= 50) {
      response.flushHeaders();
      return;
    }
    version += 1;
    send(response, "ADDED", pod(`pod-${version}`, version));
    response.end();
  });
  // With any pause, the second watch would not come before the test times out.
  const timing = { healthyMs: 600_000, backoff: { initialMs: 600_000, maxMs: 600_000 } };
  const { changes, reasons, errors } = reflect(server, { timing });
  await vi.waitFor(() => expect(watches(server)).toHaveLength(50));
  expect(changes).toHaveLength(49);
  expect(versions(server).at(-1)).toBe("50");
  expect(reasons).toEqual(Array.from({ length: 49 }, () => "ended"));
  expect(errors).toEqual([]);
});

test("a watch without events that lasted is resumed at once when the server ends it", async () => {
  const client: InMemoryClient = new InMemoryClient(async function* (signal) {
    await pause(client.clock, 1_000, signal);
    yield* [];
  });
  const timing = { healthyMs: 600_000, backoff: { initialMs: 600_000, maxMs: 600_000 } };
  reflect({ client }, { clock: client.clock, timing });
  await client.clock.advance(2_500);
  expect(client.watchedAt).toEqual([0, 1_000, 2_000]);
});

test("backoff does not grow while each watch brings something new before it fails", async () => {
  let version = 1;
  const client: InMemoryClient = new InMemoryClient(async function* () {
    version += 1;
    yield eventLine("ADDED", pod("a", version));
    throw new Error("connection reset");
  });
  const timing = { healthyMs: 600_000, backoff: { initialMs: 100, maxMs: 10_000 } };
  const { reasons } = reflect({ client }, { clock: client.clock, timing, random: () => 1 });
  await client.clock.advance(350);
  expect(client.watchedAt).toEqual([0, 100, 200, 300]);
  expect(reasons).toEqual(["error", "error", "error"]);
});

test("a Retry-After delays the next request", async () => {
  class BusyClient extends InMemoryClient {
    override async request(): Promise<JsonObject> {
      const page = await super.request();
      if (this.listedAt.length > 1) return page;
      const answer = { server: "memory", method: "GET", path: "/api/v1/pods", status: 429, body: "{}" };
      throw new ApiError({ ...answer, retryAfterHeader: "1" });
    }
  }
  const client = new BusyClient(async function* (signal) {
    yield BOOKMARK;
    await aborted(signal);
  });
  reflect({ client }, { clock: client.clock });
  await client.clock.advance(2_000);
  expect(client.listedAt).toEqual([0, 1_000]);
});

test("stop interrupts a watch, a list and a pause, and delivers nothing afterwards", async () => {
  let open: ServerResponse | undefined;
  await using server = await scriptedServer((_request, response, url) => {
    if (url.pathname.endsWith("/hang")) return;
    if (url.pathname.endsWith("/broken")) response.destroy();
    else if (!url.searchParams.has("watch")) json(response, 200, list(1, []));
    else {
      response.writeHead(200).flushHeaders();
      open = response;
    }
  });
  // Its time stands still: a stop that waited for a timer would never return.
  const clock = new VirtualClock();
  const watching = reflect(server, { clock });
  const listing = reflect(server, { clock, path: "/hang" });
  const pausing = reflect(server, { clock, path: "/broken" });
  await vi.waitFor(() => {
    expect(open).toBeDefined();
    expect(pausing.errors).toHaveLength(1);
  });
  await Promise.all([watching, listing, pausing].map(({ reflector }) => reflector.stop()));
  if (open !== undefined) send(open, "ADDED", pod("late", 9));
  // A round trip: anything that the server sent before has arrived.
  await server.client.request("GET", "/api/v1/pods");
  expect(watching.changes).toEqual([]);
  expect(watching.errors).toEqual([]);
});
