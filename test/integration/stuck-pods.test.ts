// Freeing stuck Pods on a real API server, with the permissions from the manifests: a controller that is killed between
// its two writes, and a cluster that changes between check and write. Without kubelets a Pod on a node stays
// Terminating.
import type { KubeConfig } from "@kubernetes/client-node";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createStuckPodsMetrics } from "../../controller/shell/stuck-pods/metrics.ts";
import { type FreeingClient, FreeingRequests } from "../../controller/shell/stuck-pods/requests.ts";
import { Rescue } from "../../controller/shell/stuck-pods/rescue.ts";
import { ObservedSurroundings } from "../../controller/stuck-pods/surroundings.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import { readNode } from "../../src/api/node.ts";
import { type Pod, readPod } from "../../src/api/pod.ts";
import { asMap, asText } from "../../src/json/fields.ts";
import { hasStatus } from "../../src/kube/api-error.ts";
import { connect, JSON_PATCH, KubeClient, MERGE_PATCH } from "../../src/kube/client.ts";
import type { Occurrence } from "../../src/kube/events.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { createRegistry } from "../../src/telemetry/metrics.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { tokenConfig } from "../reprise-programs.ts";

const NODE = "lost";
const NODES = "/api/v1/nodes";
const PODS = "/api/v1/namespaces/team/pods";
const TAINTS = [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z" }];

let plane: ControlPlane;
let admin: KubeClient;
/** With the controller's own permissions. */
let client: KubeClient;

beforeAll(async () => {
  plane = await startControlPlane();
  admin = connect({ kubeconfig: plane.kubeconfig });
  const { kubectl } = plane;
  await kubectl(["apply", "-f", "manifests/default/namespace.yaml"]);
  await kubectl(["apply", "-f", "manifests/controller/serviceaccount.yaml", "-f", "manifests/controller/rbac.yaml"]);
  await kubectl(["create", "namespace", "team"]);
  await kubectl(["create", "serviceaccount", "default", "-n", "team"]);
  client = new KubeClient(await accountConfig());
  await admin.request("POST", NODES, { body: { metadata: { name: "other" } } });
});

afterAll(async () => {
  await Promise.all([client?.close(), admin?.close()]);
  await plane?.stop();
});

let around: ObservedSurroundings;
let term: AbortController;

beforeEach(async () => {
  const lost = await admin.request("POST", NODES, { body: { metadata: { name: NODE }, spec: { taints: TAINTS } } });
  around = new ObservedSurroundings({ enabled: true, threshold: 0, brake: 0.55 }, 0);
  around.observeNamespace("team", true);
  around.observeNode(readNode(lost), 0);
  around.observeNode(readNode(await admin.request("GET", `${NODES}/other`)), 0);
  term = new AbortController();
});

afterEach(async () => {
  term.abort();
  await admin.request("DELETE", PODS, { body: { gracePeriodSeconds: 0 } });
  await admin.request("DELETE", `${NODES}/${NODE}`);
});

test("a stuck Pod gets a condition and an Event and is deleted, with the permissions of the manifests", async () => {
  const { uid } = await stuckPod("p");
  const rescue = new Observed();
  await rescue.until(async () => (await podNow("p")) === undefined);
  expect(rescue.writes).toEqual(["PATCH", "DELETE"]);
  expect(rescue.told).toMatchObject([{ regarding: { kind: "Pod", name: "p", uid }, reason: "ForcefullyDeleted" }]);
  expect(await rescue.metric("reprise_controller_stuck_pods_freed_total")).toBe(1);
});

test("after a controller is killed between its two writes, the next one only deletes the Pod", async () => {
  await stuckPod("p");
  const killed = new Observed({ after: async (method) => void (method === "PATCH" && term.abort()) });
  await killed.until(async () => (await podNow("p"))?.phase === "Failed");
  await killed.rescue.drain();
  expect(killed.writes).toEqual(["PATCH"]);
  expect((await podNow("p"))?.conditions).toMatchObject([{ type: "RepriseFailureRecovery", status: "True" }]);
  term = new AbortController();
  const next = new Observed();
  await next.until(async () => (await podNow("p")) === undefined);
  expect(next.writes).toEqual(["DELETE"]);
});

test("a Pod that a finalizer keeps is not freed twice", async () => {
  await stuckPod("p", { finalizers: ["reprise.dev/test"] });
  const rescue = new Observed();
  await rescue.until(async () => (await podNow("p"))?.deletion?.graceSeconds === 0);
  await rescue.looks(2);
  expect(rescue.writes).toEqual(["PATCH", "DELETE"]);
  expect(await rescue.metric("reprise_controller_stuck_pods_left_total", { reason: "AlreadyFreed" })).toBe(1);
  await admin.request("PATCH", `${PODS}/p`, {
    body: [{ op: "remove", path: "/metadata/finalizers" }],
    contentType: JSON_PATCH,
  });
});

test("a node that is back keeps its Pods, even before the watch shows it", async () => {
  await stuckPod("p");
  await admin.request("PATCH", `${NODES}/${NODE}`, { body: { spec: { taints: null } }, contentType: MERGE_PATCH });
  const rescue = new Observed();
  await rescue.looks(2);
  expect(rescue.writes).toEqual([]);
});

test("consent that is withdrawn between check and write is respected", async () => {
  await stuckPod("p");
  let isWithdrawn = false;
  const rescue = new Observed({
    before: async (method) => {
      if (method !== "PATCH" || isWithdrawn) return;
      isWithdrawn = true;
      const body = { metadata: { annotations: { [ANNOTATION.safeToForcefullyDelete]: null } } };
      await admin.request("PATCH", `${PODS}/p`, { body, contentType: MERGE_PATCH });
    },
  });
  await rescue.until(async () => isWithdrawn);
  await rescue.looks(2);
  // A conflict, because the Pod has changed.
  expect(rescue.writes).toEqual(["PATCH"]);
  expect(await podNow("p")).toMatchObject({ phase: "Pending", deletion: { graceSeconds: 30 } });
  expect(await rescue.metric("reprise_controller_stuck_pods_left_total", { reason: "NoConsent" })).toBe(1);
});

test("a Pod that cannot be freed does not block the others on its node", async () => {
  await stuckPod("a");
  await stuckPod("b");
  let changes = 0;
  const rescue = new Observed({
    before: async (_, path) => {
      if (path !== `${PODS}/a/status`) return;
      // It changes all the time, so that every check is out of date.
      changes += 1;
      const body = { metadata: { annotations: { changes: String(changes) } } };
      await admin.request("PATCH", `${PODS}/a`, { body, contentType: MERGE_PATCH });
    },
  });
  await rescue.until(async () => (await podNow("b")) === undefined);
  expect(await podNow("a")).toMatchObject({ phase: "Pending", conditions: [] });
});

test("another Pod that took the name is not deleted", async () => {
  await stuckPod("p");
  let successor: Pod | undefined;
  const rescue = new Observed({
    before: async (method) => {
      if (method !== "DELETE" || successor !== undefined) return;
      await admin.request("DELETE", `${PODS}/p`, { body: { gracePeriodSeconds: 0 } });
      successor = await createPod("p", {});
    },
  });
  await rescue.until(async () => rescue.writes.includes("DELETE"));
  await rescue.looks(2);
  expect(await podNow("p")).toMatchObject({ uid: successor?.uid, phase: "Pending" });
  expect((await podNow("p"))?.deletion).toBeUndefined();
});

test("a standby sends no request", async () => {
  await stuckPod("p");
  const rescue = new Observed({ leads: false });
  rescue.rescue.nodeChanged(NODE);
  rescue.rescue.checkAll();
  await rescue.rescue.drain();
  expect([rescue.lists, rescue.writes]).toEqual([0, []]);
});

test("no request is sent while the brake holds; the Pod is freed when it releases", async () => {
  await stuckPod("p");
  around.forgetNode("other", 0);
  const rescue = new Observed();
  rescue.rescue.nodeChanged(NODE);
  await rescue.rescue.drain();
  expect([rescue.lists, rescue.writes]).toEqual([0, []]);
  expect(await rescue.metric("reprise_controller_stuck_pods_brake")).toBe(1);
  around.observeNode(readNode(await admin.request("GET", `${NODES}/other`)), 0);
  rescue.rescue.nodeChanged("other");
  await rescue.until(async () => (await podNow("p")) === undefined);
  expect(await rescue.metric("reprise_controller_stuck_pods_brake")).toBe(0);
});

interface Interference {
  readonly leads?: boolean;
  /** A change in the cluster right before or after a write of the controller. */
  readonly before?: (method: string, path: string) => Promise<void>;
  readonly after?: (method: string) => Promise<void>;
}

/** The real rescue, with all its requests and Events recorded. */
class Observed {
  readonly writes: string[] = [];
  readonly told: Occurrence[] = [];
  readonly rescue: Rescue;
  lists = 0;
  readonly #registry = createRegistry();

  constructor({ leads = true, before, after }: Interference = {}) {
    const observing: FreeingClient = {
      request: async (method, path, options) => {
        if (path === "/api/v1/pods") this.lists += 1;
        if (method === "GET") return await client.request(method, path, options);
        await before?.(method, path);
        // Only what is sent counts.
        options.signal.throwIfAborted();
        this.writes.push(method);
        const answer = await client.request(method, path, options);
        await after?.(method);
        return answer;
      },
    };
    this.rescue = new Rescue({
      surroundings: around,
      requests: new FreeingRequests(observing),
      record: (occurrence) => this.told.push(occurrence),
      metrics: createStuckPodsMetrics(this.#registry, around),
      log: createLogger({ level: "error", pretty: false }),
      // A clock ahead of the grace periods, so that the test need not wait.
      now: () => Date.now() + 60_000,
    });
    if (leads) this.rescue.lead(term.signal);
  }

  async until(condition: () => Promise<boolean>): Promise<void> {
    await vi.waitFor(async () => expect(await condition()).toBe(true), { timeout: 20_000, interval: 50 });
  }

  /** Waits until it has checked this many more times. */
  async looks(times: number): Promise<void> {
    const before = this.lists;
    await this.until(async () => this.lists >= before + times);
    await this.rescue.drain();
  }

  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number | undefined> {
    const metric = await this.#registry.getSingleMetric(name)?.get();
    return metric?.values.find((value) =>
      Object.entries(labels).every(([key, expected]) => Reflect.get(value.labels, key) === expected),
    )?.value;
  }
}

async function createPod(name: string, metadata: Readonly<Record<string, unknown>>): Promise<Pod> {
  const annotations = { [ANNOTATION.safeToForcefullyDelete]: "true" };
  const spec = { nodeName: NODE, containers: [{ name: "main", image: "none" }] };
  return readPod(await admin.request("POST", PODS, { body: { metadata: { name, annotations, ...metadata }, spec } }));
}

/** Terminating for longer than its grace period, by the controller's clock. */
async function stuckPod(name: string, metadata: Readonly<Record<string, unknown>> = {}): Promise<Pod> {
  await createPod(name, metadata);
  await admin.request("DELETE", `${PODS}/${name}`, { body: { gracePeriodSeconds: 30 } });
  const pod = await podNow(name);
  if (pod?.deletion === undefined) throw new Error("the Pod does not terminate");
  return pod;
}

async function podNow(name: string): Promise<Pod | undefined> {
  try {
    return readPod(await admin.request("GET", `${PODS}/${name}`));
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}

async function accountConfig(): Promise<KubeConfig> {
  const path = "/api/v1/namespaces/reprise-system/serviceaccounts/reprise-controller/token";
  const answer = await admin.request("POST", path, { body: { spec: {} } });
  const server = { url: plane.server, ca: plane.credentials.authority.cert };
  return tokenConfig(server, asText(asMap(answer["status"])["token"]) ?? "");
}
