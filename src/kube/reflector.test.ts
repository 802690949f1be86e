import type { ServerResponse } from "node:http";
import { afterEach, expect, test, vi } from "vitest";
import type { JsonObject } from "../json/types.ts";
import type { Change } from "./projected-cache.ts";
import { Reflector, type ReflectorOptions, type ReflectorTiming } from "./reflector.ts";
import { json, type ScriptedServer, scriptedServer } from "./testing/scripted-server.ts";

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

function reflect(server: ScriptedServer, options: Partial<ReflectorOptions<string>> = {}) {
  const changes: string[] = [];
  const errors: string[] = [];
  const counts = { relists: 0, reconnects: 0 };
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
    onReconnect: () => {
      counts.reconnects += 1;
    },
    timing: QUICK,
    ...options,
  });
  reflectors.push(reflector);
  reflector.start();
  return { reflector, changes, errors, counts };
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

test("after a lost connection the watch resumes from the last event or bookmark, without a list and without repeats", async () => {
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
    const { changes, counts, errors } = reflect(server);
    await vi.waitFor(() => expect(versions(server)).toEqual(["5", "20"]));
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

test("an unexpected error inside the stream is reported and healed by a list", async () => {
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

test("a connection that stays open but silent is replaced, and any byte counts as life", async () => {
  let turn = 0;
  await using server = await scriptedServer((_request, response, url) => {
    if (!url.searchParams.has("watch")) {
      json(response, 200, list(1, []));
      return;
    }
    turn += 1;
    response.writeHead(200).flushHeaders();
    if (turn !== 1) return;
    // Twelve bookmarks, 50 ms apart: longer than the allowed silence in all, but never silent for that long.
    let sent = 0;
    const timer = setInterval(() => {
      send(response, "BOOKMARK", { metadata: { resourceVersion: String(100 + sent) } });
      if (++sent === 12) clearInterval(timer);
    }, 50);
  });
  const { errors, counts } = reflect(server, { timing: { ...QUICK, idleMs: 300 } });
  await vi.waitFor(() => expect(versions(server).slice(0, 2)).toEqual(["1", "111"]), 5_000);
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

test("a server that closes every watch at once is not hammered", async () => {
  await using server = await scriptedServer((_request, response, url) => {
    if (!url.searchParams.has("watch")) json(response, 200, list(1, []));
    else response.writeHead(200).end();
  });
  reflect(server, { timing: { healthyMs: 10_000, backoff: { initialMs: 100, maxMs: 10_000 } }, random: () => 1 });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  // At 0, 100, 300 and 700 ms.
  expect(watches(server).length).toBeLessThanOrEqual(4);
  expect(watches(server).length).toBeGreaterThanOrEqual(2);
});

test("a healthy watch that the server ends is resumed at once", async () => {
  await using server = await scriptedServer((_request, response, url) => {
    if (!url.searchParams.has("watch")) {
      json(response, 200, list(1, []));
      return;
    }
    response.writeHead(200).flushHeaders();
    setTimeout(() => response.end(), 60);
  });
  reflect(server, { timing: { healthyMs: 30, backoff: { initialMs: 60_000, maxMs: 60_000 } } });
  await vi.waitFor(() => expect(watches(server).length).toBeGreaterThanOrEqual(3));
});

test("a server that asks for patience gets it", async () => {
  let first: number | undefined;
  let second: number | undefined;
  await using server = await scriptedServer((_request, response) => {
    if (first === undefined) {
      first = performance.now();
      response.writeHead(429, { "retry-after": "1" }).end("{}");
      return;
    }
    second ??= performance.now();
    json(response, 200, list(1, []));
  });
  const { reflector } = reflect(server);
  await reflector.whenSynced();
  expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(990);
});

test("stop ends promptly in a watch, in a list and in a pause, and delivers nothing afterwards", async () => {
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
  const watching = reflect(server);
  const listing = reflect(server, { path: "/hang" });
  const pausing = reflect(server, { path: "/broken", timing: { backoff: { initialMs: 60_000, maxMs: 60_000 } } });
  await vi.waitFor(() => {
    expect(open).toBeDefined();
    expect(pausing.errors).toHaveLength(1);
  });
  const started = performance.now();
  await Promise.all([watching, listing, pausing].map(({ reflector }) => reflector.stop()));
  expect(performance.now() - started).toBeLessThan(500);
  if (open !== undefined) send(open, "ADDED", pod("late", 9));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(watching.changes).toEqual([]);
  expect(watching.errors).toEqual([]);
});
