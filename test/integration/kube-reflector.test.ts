// The reflector against a real API server: large lists, a killed server, and history that etcd has dropped.

import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import type { Change } from "../../src/api/change.ts";
import type { JsonObject } from "../../src/json/types.ts";
import { connect, type KubeClient, MERGE_PATCH } from "../../src/kube/client.ts";
import { identify } from "../../src/kube/projected-cache.ts";
import { Reflector } from "../../src/kube/reflector.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { cuttableProxy } from "./cuttable-proxy.ts";
import { counted } from "./kube-traffic.ts";

let plane: ControlPlane;
let client: KubeClient;
const reflectors: Reflector<string>[] = [];

beforeAll(async () => {
  plane = await startControlPlane();
  client = connect({ kubeconfig: plane.kubeconfig });
});

afterEach(async () => {
  await Promise.all(reflectors.splice(0).map((reflector) => reflector.stop()));
});

afterAll(async () => {
  await client?.close();
  await plane?.stop();
});

const COLLECTION = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;

async function namespace(name: string): Promise<string> {
  await client.request("POST", "/api/v1/namespaces", { body: { metadata: { name } } });
  return COLLECTION(name);
}

/** The changes that a consumer saw, one line each. */
function watching(path: string, through: KubeClient = client) {
  const traffic = counted(through);
  const seen: string[] = [];
  const stages: string[] = [];
  const reflector = new Reflector<string>({
    client: traffic,
    path,
    project: (raw) => JSON.stringify(raw["data"] ?? null),
    onChange: (change) => seen.push(line(change)),
    onError: (_error, stage) => stages.push(stage),
  });
  reflectors.push(reflector);
  reflector.start();
  return { traffic, seen, stages, reflector };
}

function line(change: Change<string>): string {
  const version = change.kind === "deleted" ? "" : ` ${change.resourceVersion}`;
  return `${change.kind} ${change.key} ${change.uid}${version}`;
}

/** Writes, and returns the change that the consumer must see according to the server's response. */
function writer(path: string) {
  const expected: string[] = [];
  const note = (kind: "added" | "updated", answer: JsonObject) => {
    const { key, uid, resourceVersion } = identify(answer);
    expected.push(`${kind} ${key} ${uid} ${resourceVersion}`);
    return { key, uid };
  };
  return {
    expected,
    create: async (name: string) => note("added", await client.request("POST", path, { body: { metadata: { name } } })),
    update: async (name: string, value: string) => {
      const body = { data: { value } };
      note("updated", await client.request("PATCH", `${path}/${name}`, { body, contentType: MERGE_PATCH }));
    },
    remove: async (name: string) => {
      const { key, uid } = identify(await client.request("GET", `${path}/${name}`));
      await client.request("DELETE", `${path}/${name}`);
      expected.push(`deleted ${key} ${uid}`);
    },
  };
}

test("5,000 ConfigMaps are listed in pages of 500, each delivered once", async () => {
  const path = await namespace("many");
  const names = Array.from({ length: 5_000 }, (_, i) => `map-${i}`);
  const lanes = Array.from({ length: 32 }, (_, lane) => names.filter((_name, i) => i % 32 === lane));
  await Promise.all(
    lanes.map(async (lane) => {
      for (const name of lane) await client.request("POST", path, { body: { metadata: { name }, data: { name } } });
    }),
  );
  const { traffic, seen, reflector } = watching(path);
  await reflector.whenSynced();
  // Without a controller manager there is no ConfigMap with the root CA.
  expect(reflector.size).toBe(5_000);
  expect(new Set(seen).size).toBe(5_000);
  expect(traffic.lists).toHaveLength(10);
  expect(traffic.lists.every(({ limit, items }) => limit === 500 && items === 500)).toBe(true);
  expect(traffic.lists.filter(({ continued }) => continued)).toHaveLength(9);
});

test("a kill -9 of the API server loses no change and repeats none", async () => {
  const path = await namespace("killed");
  const write = writer(path);
  const { seen, reflector, stages } = watching(path);
  await reflector.whenSynced();
  for (const name of ["a", "b", "c", "d"]) await write.create(name);
  await write.update("a", "1");
  await write.update("a", "2");
  await write.remove("d");
  await vi.waitFor(() => expect(seen).toEqual(write.expected));

  await plane.killApiServer();
  await expect(write.create("while-down")).rejects.toThrow("cannot reach API server");
  await plane.startApiServer();
  // Right after the restart, before the watch is back, and again afterwards.
  await write.update("b", "during");
  await write.remove("c");
  await write.create("c");
  await write.create("e");
  // A list after the outage delivers deletions first. The sequence of each object is exact.
  await vi.waitFor(() => expect(byObject(seen)).toEqual(byObject(write.expected)), { timeout: 20_000 });
  await write.update("a", "after");
  await write.update("a", "after that");
  await write.remove("b");
  await vi.waitFor(() => expect(byObject(seen)).toEqual(byObject(write.expected)), { timeout: 20_000 });
  expect(seen).toHaveLength(write.expected.length);
  expect(stages.length).toBeGreaterThan(0);
});

function byObject(changes: readonly string[]): Record<string, string[] | undefined> {
  return Object.groupBy(changes, (change) => change.split(" ")[1] ?? "");
}

test("after etcd dropped its history, one list delivers only the differences", async () => {
  await using proxy = await cuttableProxy(plane.kubeconfig, plane.server);
  const distant = connect({ kubeconfig: proxy.kubeconfig });
  const path = await namespace("compacted");
  const write = writer(path);
  const { traffic, seen, stages, reflector } = watching(path, distant);
  await reflector.whenSynced();
  for (const name of ["same", "changed", "gone", "recreated"]) await write.create(name);
  await vi.waitFor(() => expect(seen).toEqual(write.expected));
  expect(traffic.lists).toHaveLength(1);

  proxy.cut();
  await vi.waitFor(() => expect(stages.length).toBeGreaterThan(0));
  await write.update("changed", "1");
  await write.update("changed", "2");
  await write.remove("gone");
  await write.remove("recreated");
  await write.create("recreated");
  await plane.compactEtcd();
  // The server's watch cache must go too, because it could still answer.
  await plane.killApiServer();
  await plane.startApiServer();
  const watched = traffic.watches.length;
  proxy.mend();

  const last = write.expected.slice(4);
  // Of two missed updates, a list shows the second.
  const differences = [last[2], last[1], last[3], last[4]];
  await vi.waitFor(() => expect(seen.slice(4).sort()).toEqual(differences.sort()), { timeout: 20_000 });
  expect(traffic.lists).toHaveLength(2);
  expect(traffic.watches.length).toBeGreaterThan(watched);
  await distant.close();
});
