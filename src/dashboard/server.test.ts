// The real server over real HTTP, fed by the real reflectors from a generated cluster.
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "../../test/eventually.ts";
import { ApiError } from "../kube/api-error.ts";
import type { CollectionReader } from "../kube/reflector.ts";
import { createLogger } from "../telemetry/log.ts";
import { readAssets } from "./assets.ts";
import { type RunningDashboard, runDashboard } from "./run.ts";
import type { StreamLimits } from "./stream.ts";
import { eventsOf, nextEvent } from "./testing/event-reader.ts";
import { GeneratedCluster } from "./testing/generated-cluster.ts";
import { POD_STATES } from "./view/wire.ts";

const GROUP = "team/train";
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Start {
  readonly pods?: number;
  readonly limits?: Partial<StreamLimits>;
  readonly client?: CollectionReader;
}

async function start({ pods = 3, limits = {}, client }: Start = {}) {
  const cluster = new GeneratedCluster({ namespace: "team", name: "train", stages: { workers: pods } });
  const dashboard = await runDashboard({
    client: client ?? cluster,
    address: "127.0.0.1",
    port: 0,
    allowedHosts: ["board.example"],
    assets: new Map([["/", { type: "text/html; charset=utf-8", body: Buffer.from("<p>page</p>") }]]),
    log: createLogger({ level: "error" }),
    limits: { gatherMs: 5, quietMs: 50, ...limits },
  });
  cleanups.push(() => dashboard.close());
  if (client === undefined) await eventually(async () => (await get(dashboard, "/readyz")).statusCode === 200);
  return { cluster, dashboard };
}

async function get(
  { port }: RunningDashboard,
  path: string,
  { method = "GET", headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<IncomingMessage & { text: string }> {
  const sent = request({ port, host: "127.0.0.1", path, method, headers }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return Object.assign(response, { text: await text(response) });
}

function follow({ port }: RunningDashboard, group = GROUP) {
  const ending = new AbortController();
  cleanups.push(() => ending.abort());
  return eventsOf(`http://127.0.0.1:${port}/events?group=${encodeURIComponent(group)}`, ending.signal);
}

describe("the files of the page", () => {
  it("are served with headers that keep scripts and frames of others out", async () => {
    const { dashboard } = await start();
    const { statusCode, headers, text: body } = await get(dashboard, "/");
    expect({ statusCode, body }).toEqual({ statusCode: 200, body: "<p>page</p>" });
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
    });
    const policy = String(headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toContain("unsafe");
    expect((await get(dashboard, "/", { method: "HEAD" })).text).toBe("");
  });

  it.each(["/nothing", "/../package.json", "/%2e%2e/package.json", "//evil.example/x", "/index.html", "/page.js/"])(
    "do not include %s",
    async (path) => {
      const { dashboard } = await start();
      expect((await get(dashboard, path)).statusCode).toBe(404);
    },
  );
});

describe("a request that is not answered", () => {
  it.each(["/", "/events"])("comes under the name of another site: %s", async (path) => {
    const { dashboard } = await start();
    const { statusCode, text: body } = await get(dashboard, path, { headers: { host: "evil.example" } });
    expect(statusCode).toBe(403);
    expect(body).toMatch(/not served as "evil\.example"; open it as localhost, or start it with --allow-host/);
  });

  it("would change something", async () => {
    const { dashboard } = await start();
    const { statusCode, headers } = await get(dashboard, "/", { method: "POST" });
    expect({ statusCode, allow: headers.allow }).toEqual({ statusCode: 405, allow: "GET, HEAD" });
  });

  it("asks for the stream from another site, or for a group with an endless name", async () => {
    const { dashboard } = await start();
    const foreign = await get(dashboard, "/events", { headers: { "sec-fetch-site": "cross-site" } });
    expect(foreign.statusCode).toBe(403);
    expect((await get(dashboard, `/events?group=${"x".repeat(1_000)}`)).statusCode).toBe(400);
  });

  it("is one stream too many, until another one ends", async () => {
    const { dashboard } = await start({ limits: { clients: 1 } });
    const first = new AbortController();
    const events = eventsOf(`http://127.0.0.1:${dashboard.port}/events`, first.signal);
    await nextEvent(events, "groups");
    const { statusCode, text: body } = await get(dashboard, "/events");
    expect({ statusCode, body }).toEqual({ statusCode: 503, body: expect.stringContaining("too many pages are open") });
    first.abort();
    await eventually(() => dashboard.stream.clients === 0);
    await nextEvent(follow(dashboard), "groups");
  });
});

it("answers under the name of a proxy, and answers probes under any name", async () => {
  const { dashboard } = await start();
  expect((await get(dashboard, "/", { headers: { host: "board.example" } })).statusCode).toBe(200);
  expect((await get(dashboard, "/healthz", { headers: { host: "10.0.0.7:8084" } })).text).toBe("ok\n");
});

describe("the stream", () => {
  it("begins with the whole view", async () => {
    const { dashboard } = await start();
    const events = follow(dashboard);
    const groups = await nextEvent(events, "groups");
    expect(groups).toMatchObject({
      reset: true,
      missing: [],
      changed: [{ key: GROUP, phase: "Running", ready: "3/3" }],
    });
    expect((await nextEvent(events, "detail")).detail).toMatchObject({ key: GROUP, syncedEpoch: 1, history: [] });
    const pods = await nextEvent(events, "pods");
    expect(pods.reset).toBe(true);
    expect(pods.added.map((pod) => pod[1])).toEqual([0, 1, 2].map((index) => `train-workers-0-${index}-x7k2p`));
  });

  it("shows a recovery as it happens", async () => {
    const { cluster, dashboard } = await start();
    const events = follow(dashboard);
    await nextEvent(events, "pods");
    const counts = new Map<number, number>();
    const stateOf = (name: (typeof POD_STATES)[number]) => POD_STATES.indexOf(name);
    const settled = (state: number, epoch: number) =>
      nextEvent(events, "pods", ({ changed }) => {
        for (const [id, , to, at] of changed) counts.set(id, to * 1_000 + at);
        return counts.size === 3 && [...counts.values()].every((value) => value === state * 1_000 + epoch);
      });

    cluster.fail(1, "<b>out of memory</b>");
    const { detail } = await nextEvent(events, "detail", ({ detail }) => detail?.history.length === 1);
    expect(detail?.history[0]).toMatchObject({
      cause: "Pod train-workers-0-1-x7k2p: container worker exited with code 1",
      lastWords: "<b>out of memory</b>",
      fromEpoch: 1,
    });
    cluster.arrive(cluster.pods);
    await settled(stateOf("barrier"), 2);
    cluster.lift();
    cluster.change(cluster.pods, { worker: "running" });
    await settled(stateOf("running"), 2);
    cluster.finish();
    const last = await nextEvent(events, "groups", ({ changed }) => changed[0]?.phase === "Running");
    expect(last.changed[0]).toMatchObject({ epoch: 2, restarts: 1, ready: "3/3", recovery: { completed: 1 } });
  });

  it("sends the Pods of the group that a page shows, and of no other", async () => {
    const { cluster, dashboard } = await start();
    const events = follow(dashboard, "team/other");
    expect((await nextEvent(events, "detail")).detail).toBeNull();
    expect((await nextEvent(events, "pods")).added).toEqual([]);
    cluster.change(cluster.pods, { epoch: 7 });
    cluster.fail(0, "");
    const { value } = await events.next();
    expect(value).toMatchObject({ name: "groups", data: { changed: [{ key: GROUP, phase: "Restarting" }] } });
  });

  /** Opens the stream and never reads. The kernel takes some megabytes before anything waits in the server. */
  function ignore({ port }: RunningDashboard): void {
    const slow = connect(port, "127.0.0.1").pause();
    cleanups.push(() => slow.destroy());
    slow.write(`GET /events?group=${GROUP} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  }

  const LONG = "x".repeat(200_000);

  it("cuts a client off that does not read, and goes on for the others", async () => {
    const { cluster, dashboard } = await start({ limits: { bufferedBytes: 4_000_000 } });
    ignore(dashboard);
    const events = follow(dashboard);
    await nextEvent(events, "pods");
    await eventually(() => dashboard.stream.clients === 2);
    for (let failures = 0; failures < 100 && dashboard.stream.dropped === 0; failures += 1) {
      cluster.fail(0, LONG);
      await nextEvent(events, "detail");
    }
    expect(dashboard.stream).toMatchObject({ dropped: 1, clients: 1 });
    cluster.fail(0, LONG);
    await nextEvent(events, "detail");
  });

  it("cuts a client off that has taken nothing for long", async () => {
    const { cluster, dashboard } = await start({ limits: { stalledMs: 200, bufferedBytes: 1_000_000_000 } });
    ignore(dashboard);
    await eventually(() => dashboard.stream.clients === 1);
    const failing = setInterval(() => cluster.fail(0, LONG), 20);
    cleanups.push(() => clearInterval(failing));
    await eventually(() => dashboard.stream.dropped === 1);
    expect(dashboard.stream.clients).toBe(0);
  });

  it("names what cannot be read from the cluster", async () => {
    const cluster = new GeneratedCluster({ namespace: "team", name: "train", stages: { workers: 1 } });
    const client: CollectionReader = {
      server: cluster.server,
      stream: (path, options) => cluster.stream(path, options),
      request: (method, path, options) => {
        if (!path.endsWith("/pods")) return cluster.request(method, path, options);
        const body = JSON.stringify({ message: "pods is forbidden" });
        return Promise.reject(new ApiError({ server: cluster.server, method, path, status: 403, body }));
      },
    };
    const { dashboard } = await start({ client });
    const events = follow(dashboard);
    const { problems } = await nextEvent(events, "problems", (event) => event.problems.length > 0);
    expect(problems).toEqual([{ watched: "pods", message: expect.stringContaining("pods is forbidden") }]);
    expect(await get(dashboard, "/readyz")).toMatchObject({
      statusCode: 503,
      text: "waiting for the first list of pods\n",
    });
  });
});

it("names the file of the page that is missing, and what to do", () => {
  expect(() => readAssets(new URL("file:///nonexistent/"))).toThrow(
    /cannot be read from \/nonexistent\/.*npm run build/,
  );
});

it("names the port that is taken, and what to do", async () => {
  const { dashboard } = await start();
  const again = runDashboard({
    client: new GeneratedCluster({ namespace: "a", name: "b", stages: {} }),
    address: "127.0.0.1",
    port: dashboard.port,
    allowedHosts: [],
    assets: new Map(),
    log: createLogger({ level: "error" }),
  });
  await expect(again).rejects.toThrow(/cannot serve the dashboard at 127\.0\.0\.1, port \d+: .*EADDRINUSE.*--port/);
});
