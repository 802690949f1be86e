// The controller with a real API server, Job controller and JobSet manager, and the permissions of its own service
// account. There are no nodes: the test acts as kubelets and agents, the latter with the tokens that their Pods would
// have.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { AgentAccess } from "../../controller/shell/agent-access.ts";
import { type RunningController, runController } from "../../controller/shell/run.ts";
import { readGroupEpoch } from "../../src/api/group-epoch.ts";
import { type InPlaceRestart, readInPlaceRestart } from "../../src/api/in-place-restart.ts";
import { type JobSet, readJobSet } from "../../src/api/jobset.ts";
import { type Identity, readIdentity, wholeSeconds } from "../../src/api/metadata.ts";
import { ANNOTATION, JOBSET, LABEL } from "../../src/api/names.ts";
import { DEFAULT_RESTART_POLICY } from "../../src/api/restart-policy.ts";
import { defaultConfig } from "../../src/config/config.ts";
import { asList, asMap, asText } from "../../src/json/fields.ts";
import type { JsonObject } from "../../src/json/types.ts";
import { hasStatus } from "../../src/kube/api-error.ts";
import { KubeClient, MERGE_PATCH } from "../../src/kube/client.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { createRegistry } from "../../src/telemetry/metrics.ts";
import { create, injected, settings } from "../builders/injection.ts";
import { type JobSetBuilder, jobSet } from "../builders/jobset.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { runJobSet } from "../cluster/parts/jobset.ts";
import { freePort } from "../free-port.ts";
import { tokenConfig } from "../reprise-programs.ts";

const NAMESPACE = "team";
const ACCOUNT = "system:serviceaccount:reprise-system:reprise-controller";
const TIMING = { leaseMs: 3_000, renewDeadlineMs: 2_000, retryMs: 300 };
const JOBSETS = `/apis/jobset.x-k8s.io/v1alpha2/namespaces/${NAMESPACE}/jobsets`;
const OBJECTS = `/apis/reprise.dev/v1alpha1/namespaces/${NAMESPACE}/inplacerestarts`;
const EPOCHS = `/apis/reprise.dev/v1alpha1/namespaces/${NAMESPACE}/groupepochs`;
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const PATIENCE = { timeout: 20_000, interval: 50 };
/** A Job replaces a deleted Pod after at least 10 s, and doubles that delay with every failure it counts. */
const JOB_PATIENCE = { timeout: 45_000, interval: 50 };

let cluster: ControlPlane;
let folder: string;
let admin: KubeClient;
const clients: KubeClient[] = [];
const controllers = new Map<string, RunningController>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "reprise-controller-"));
  cluster = await startControlPlane({ controllerManager: true, apiServerFlags: auditFlags() });
  const config = new KubeConfig();
  config.loadFromFile(cluster.kubeconfig);
  admin = remember(new KubeClient(config));
  const { kubectl } = cluster;
  await kubectl(["apply", "-f", "manifests/default/namespace.yaml"]);
  await kubectl(["apply", "--server-side", "-k", "manifests/crd"]);
  const installed = await Promise.all([
    runJobSet(cluster, { upstreamInPlace: false }),
    kubectl(["apply", "--server-side", "-k", "manifests/agent"], { withWarnings: true }),
    kubectl(["apply", "--server-side", "-k", "manifests/controller"], { withWarnings: true }),
  ]);
  expect(installed.join("\n")).not.toMatch(/warning/i);
  const namespace = { metadata: { name: NAMESPACE, labels: { [LABEL.injection]: "enabled" } } };
  await admin.request("POST", "/api/v1/namespaces", { body: namespace });
  for (const identity of ["one", "two"]) controllers.set(identity, await startController(identity));
});

afterAll(async () => {
  await Promise.all([...controllers.values()].map((controller) => controller.shutdown()));
  await Promise.all(clients.map((client) => client.close()));
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Records every request of the controller. */
function auditFlags(): string[] {
  const policy = {
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [{ level: "Metadata", users: [ACCOUNT] }, { level: "None" }],
  };
  writeFileSync(join(folder, "audit.yaml"), stringify(policy));
  return [`--audit-policy-file=${join(folder, "audit.yaml")}`, `--audit-log-path=${join(folder, "audit.log")}`];
}

function remember(client: KubeClient): KubeClient {
  clients.push(client);
  return client;
}

async function clientOf(namespace: string, account: string, pod?: Identity): Promise<KubeClient> {
  return remember(new KubeClient(await serviceAccountConfig(namespace, account, pod)));
}

async function serviceAccountConfig(namespace: string, account: string, pod?: Identity): Promise<KubeConfig> {
  const boundObjectRef = pod && { apiVersion: "v1", kind: "Pod", name: pod.name, uid: pod.uid };
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const body = { spec: { ...(boundObjectRef === undefined ? {} : { boundObjectRef }) } };
  const answer = await admin.request("POST", path, { body });
  const server = { url: cluster.server, ca: cluster.credentials.authority.cert };
  return tokenConfig(server, asText(asMap(answer["status"])["token"]) ?? "");
}

async function startController(identity: string): Promise<RunningController> {
  return await runController({
    client: await clientOf("reprise-system", "reprise-controller"),
    identity,
    leaderElection: { namespace: "reprise-system", name: "reprise-controller", timing: TIMING },
    injection: settings,
    policy: DEFAULT_RESTART_POLICY,
    stuckPods: { ...defaultConfig.stuckPods, threshold: 0 },
    host: "127.0.0.1",
    healthPort: 0,
    log: createLogger({ level: "warn", pretty: false }),
    registry: createRegistry(),
  });
}

async function apply(builder: JobSetBuilder, options: { readonly plain?: boolean } = {}): Promise<JobSet> {
  const object = builder.metadata({ namespace: NAMESPACE }).build();
  const body = options.plain === true ? object : injected(create(object));
  return readJobSet(await admin.request("POST", JOBSETS, { body }));
}

/** Two Pods that restart in place. */
function train(name: string, maxRestarts: number, annotations: Annotations = {}): JobSetBuilder {
  return (
    jobSet(name)
      .metadata({ annotations })
      .spec({ failurePolicy: { maxRestarts } })
      // The budget is then maxRestarts.
      .replicatedJob("workers", { pods: 2, job: { backoffLimit: 0 } })
  );
}

type Annotations = Readonly<Record<string, string>>;

async function objectOf(name: string): Promise<InPlaceRestart> {
  return readInPlaceRestart(await admin.request("GET", `${OBJECTS}/${name}`));
}

/** What agents read of this object. */
async function whenTold({ jobSetUID, uid }: InPlaceRestart, epochs: object): Promise<void> {
  await vi.waitFor(async () => {
    const told = await admin.request("GET", `${EPOCHS}/${jobSetUID}`);
    expect(readGroupEpoch(told)).toMatchObject(epochs);
    expect(asMap(told["metadata"])["ownerReferences"]).toMatchObject([{ kind: "InPlaceRestart", uid }]);
  }, PATIENCE);
}

async function whenObject(name: string, status: object): Promise<InPlaceRestart> {
  return await vi.waitFor(async () => {
    const object = await objectOf(name);
    expect(object.status).toMatchObject(status);
    return object;
  }, PATIENCE);
}

async function podsOf(name: string): Promise<Identity[]> {
  const query = { labelSelector: `${JOBSET.nameKey}=${name}` };
  return asList((await admin.request("GET", PODS, { query }))["items"]).map(readIdentity);
}

async function whenPods(name: string, count = 2): Promise<Identity[]> {
  return await vi.waitFor(async () => {
    const pods = await podsOf(name);
    expect(pods).toHaveLength(count);
    return pods;
  }, PATIENCE);
}

function uidsOf(pods: readonly Identity[]): string[] {
  return pods.map(({ uid }) => uid);
}

/** Waits until this Pod is gone and its replacement exists. */
async function whenReplaced(name: string, gone: Identity): Promise<Identity[]> {
  return await vi.waitFor(async () => {
    const pods = await podsOf(name);
    expect(uidsOf(pods)).not.toContain(gone.uid);
    expect(pods).toHaveLength(2);
    return pods;
  }, JOB_PATIENCE);
}

/** Writes the epoch with the token of the Pod, as an agent does. Retries, because access may come after the Pod. */
async function agentsTake(pods: readonly Identity[], epoch: number): Promise<void> {
  for (const pod of pods) {
    const agent = await clientOf(NAMESPACE, "default", pod);
    const body = { metadata: { uid: pod.uid, annotations: { [JOBSET.epochAnnotation]: String(epoch) } } };
    const write = () => agent.request("PATCH", `${PODS}/${pod.name}`, { body, contentType: MERGE_PATCH });
    await vi.waitFor(write, PATIENCE);
  }
}

async function kubeletReports(pod: Identity, run: number, exitCode?: number): Promise<void> {
  const startedAt = wholeSeconds(Date.now());
  const containerID = `containerd://${pod.name}-${run}`;
  const state =
    exitCode === undefined
      ? { running: { startedAt } }
      : { terminated: { exitCode, containerID, reason: "Error", startedAt, finishedAt: startedAt } };
  const container = { name: "train", image: "i", imageID: "i", restartCount: run, ready: exitCode === undefined };
  const body = {
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: exitCode === undefined ? "True" : "False" }],
      containerStatuses: [{ ...container, containerID, state, started: exitCode === undefined }],
    },
  };
  await admin.request("PATCH", `${PODS}/${pod.name}/status`, { body, contentType: MERGE_PATCH });
}

/** The kubelets remove all containers, and the new agents take the next epoch. */
async function restartInPlace(pods: readonly Identity[], epoch: number): Promise<void> {
  const state = { waiting: { reason: "RestartingAllContainers" } };
  const container = { name: "train", image: "i", imageID: "", restartCount: epoch, ready: false, started: false };
  const body = {
    status: { conditions: [{ type: "Ready", status: "False" }], containerStatuses: [{ ...container, state }] },
  };
  for (const pod of pods)
    await admin.request("PATCH", `${PODS}/${pod.name}/status`, { body, contentType: MERGE_PATCH });
  await agentsTake(pods, epoch);
}

/** A JobSet whose workers run in epoch 1. */
async function running(
  name: string,
  maxRestarts: number,
  annotations: Annotations = {},
): Promise<{ jobSet: JobSet; pods: Identity[] }> {
  const created = await apply(train(name, maxRestarts, annotations));
  const pods = await whenPods(name);
  await agentsTake(pods, 1);
  await whenObject(name, { syncedEpoch: 1, deprecatedEpoch: 0 });
  for (const pod of pods) await kubeletReports(pod, 1);
  await whenObject(name, { phase: "Running", ready: "2/2" });
  return { jobSet: created, pods };
}

async function eventsOf(name: string): Promise<JsonObject[]> {
  const path = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`;
  const query = { fieldSelector: `regarding.name=${name},reportingController=reprise.dev/controller` };
  const events = asList((await admin.request("GET", path, { query }))["items"]);
  return events as JsonObject[];
}

async function metricsOf(controller: RunningController | undefined): Promise<string> {
  return await (await fetch(`http://127.0.0.1:${controller?.healthPort}/metrics`)).text();
}

async function leaderIdentity(): Promise<string> {
  const path = "/apis/coordination.k8s.io/v1/namespaces/reprise-system/leases/reprise-controller";
  return asText(asMap((await admin.request("GET", path))["spec"])["holderIdentity"]) ?? "";
}

it("creates the object and the agents' access, and starts the workers when all agents have arrived", async () => {
  const { jobSet: created, pods } = await running("fresh", 3);
  const object = await admin.request("GET", `${OBJECTS}/fresh`);
  expect(asMap(object["metadata"])["ownerReferences"]).toEqual([
    { apiVersion: "jobset.x-k8s.io/v1alpha2", kind: "JobSet", name: "fresh", uid: created.uid, controller: true },
  ]);
  expect(readInPlaceRestart(object)).toMatchObject({
    jobSetUID: created.uid,
    status: { deprecatedEpoch: 0, syncedEpoch: 1, restarts: 0, phase: "Running", history: [] },
  });
  await whenTold(readInPlaceRestart(object), { deprecatedEpoch: 0, syncedEpoch: 1, heldStages: [] });
  expect(pods).toHaveLength(2);
});

it("writes the epochs for agents again when they are deleted by hand", async () => {
  const created = await apply(train("forgotten", 3));
  const object = await whenObject(created.name, { syncedEpoch: 0 });
  await whenTold(object, { syncedEpoch: 0 });
  await admin.request("DELETE", `${EPOCHS}/${created.uid}`);
  await agentsTake(await whenPods("forgotten"), 1);
  await whenTold(await whenObject("forgotten", { syncedEpoch: 1 }), { syncedEpoch: 1 });
});

it("does not lift the barrier while one agent is missing", async () => {
  await apply(train("waiting", 3));
  const [first, second] = await whenPods("waiting");
  if (first === undefined || second === undefined) throw new Error("two Pods expected");
  await agentsTake([first], 1);
  await whenObject("waiting", { syncedEpoch: 0 });
  await agentsTake([second], 1);
  await whenObject("waiting", { syncedEpoch: 1 });
});

it("reports which Pods a barrier waits for, even with long scheduler messages", async () => {
  await apply(jobSet("stalled").replicatedJob("workers", { pods: 5 }));
  const pods = await whenPods("stalled", 5);
  const message = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu. ".repeat(6);
  const body = {
    status: { conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }] },
  };
  for (const { name } of pods)
    await admin.request("PATCH", `${PODS}/${name}/status`, { body, contentType: MERGE_PATCH });
  const { status } = await whenObject("stalled", { syncedEpoch: 0, ready: "0/5" });
  // Act as if the Pod had waited for long.
  const lastTransitionTime = new Date(Date.now() - 600_000).toISOString();
  const conditions = status?.conditions.map((condition) => ({ ...condition, lastTransitionTime }));
  await admin.request("PATCH", `${OBJECTS}/stalled/status`, {
    body: { status: { conditions } },
    contentType: MERGE_PATCH,
  });
  const stalled = await whenObject("stalled", {
    conditions: expect.arrayContaining([expect.objectContaining({ type: "Stalled", status: "True" })]),
  });
  expect(await metricsOf(controllers.get(await leaderIdentity()))).toMatch(/^reprise_controller_stalled_groups 1$/m);
  const told = stalled.status?.conditions.find(({ type }) => type === "Stalled")?.message;
  for (const { name } of pods) expect(told).toContain(`${name} (`);
});

it("restarts the group when a worker fails, counts it once, and records the cause and each step's time", async () => {
  const { pods } = await running("failing", 3);
  const [first] = pods;
  if (first === undefined) throw new Error("a Pod expected");
  await kubeletReports(first, 1, 3);
  await whenObject("failing", { deprecatedEpoch: 1, syncedEpoch: 1, phase: "Restarting", restarts: 0 });
  await restartInPlace(pods, 2);
  await whenObject("failing", { deprecatedEpoch: 1, syncedEpoch: 2, restarts: 1 });
  for (const pod of pods) await kubeletReports(pod, 2);
  const { status } = await whenObject("failing", { phase: "Running", ready: "2/2", restarts: 1 });
  const time = expect.stringMatching(/^\d{4}-.*Z$/);
  expect(status?.history).toEqual([
    {
      cause: { reason: "ContainerExited", pod: first.name, container: "train", exitCode: 3 },
      action: "RestartInPlace",
      rule: "end-epoch",
      streak: { restarts: 1, slot: "failing-workers-0/0", failures: 1 },
      fromEpoch: 1,
      toEpoch: 2,
      counted: true,
      ...{ failureSeen: time, deprecated: time, allRestarted: time, synced: time, allRunning: time },
    },
  ]);
  await vi.waitFor(async () => {
    const events = await eventsOf("failing");
    expect(events.map(({ reason }) => reason).sort()).toEqual(["RestartedInPlace", "RestartingInPlace"]);
  }, PATIENCE);
  const metrics = await metricsOf(controllers.get(await leaderIdentity()));
  expect(metrics).toContain('reprise_controller_restarts_total{cause="ContainerExited",counted="true"} 1');
  expect(metrics).toContain('reprise_controller_recovery_seconds_count{part="total"} 1');
  expect(metrics).toContain('reprise_controller_events_total{reason="RestartedInPlace"} 1');
});

it("fails the JobSet when its restart budget is exhausted, and JobSet's controller ends the Jobs", async () => {
  const { pods } = await running("spent", 0);
  const [first] = pods;
  if (first === undefined) throw new Error("a Pod expected");
  await kubeletReports(first, 1, 1);
  // It fails when every Pod is back: until then one may turn out to be disrupted.
  await whenObject("spent", { deprecatedEpoch: 1, phase: "Restarting" });
  await agentsTake(pods, 2);
  await vi.waitFor(async () => {
    const raw = await admin.request("GET", `${JOBSETS}/spent`);
    const failed = readJobSet(raw);
    expect(failed.outcome).toBe("Failed");
    expect(failed.conditions).toContainEqual(
      expect.objectContaining({ type: "Failed", status: "True", reason: "ReachedMaxRestarts" }),
    );
    expect(asMap(raw["status"])["terminalState"]).toBe("Failed");
  }, PATIENCE);
  await whenObject("spent", { phase: "Failed" });
  await vi.waitFor(async () => {
    const query = { labelSelector: `${JOBSET.nameKey}=spent` };
    const jobs = await admin.request("GET", `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`, { query });
    expect(
      asList(jobs["items"]).filter((job) => asMap(asMap(job)["metadata"])["deletionTimestamp"] === undefined),
    ).toEqual([]);
  }, PATIENCE);
});

it("replaces the Pod of a slot that keeps failing, and then makes JobSet recreate everything", async () => {
  const { pods } = await running("ladder", 5, { [ANNOTATION.escalateAfter]: "1" });
  const [first, second] = pods;
  if (first === undefined || second === undefined) throw new Error("two Pods expected");
  // With a code of its own: no report shows how the other worker ended, and a lost peer could exit with 1.
  await kubeletReports(first, 1, 7);
  await whenObject("ladder", { deprecatedEpoch: 1, history: [{ action: "RestartInPlace" }] });
  await restartInPlace(pods, 2);
  const replaced = await whenReplaced("ladder", first);
  expect(uidsOf(replaced)).toContain(second.uid);
  const again = replaced.find(({ uid }) => uid !== second.uid);
  if (again === undefined) throw new Error("a new Pod expected");
  await agentsTake([again], 2);
  await whenObject("ladder", { syncedEpoch: 2, restarts: 1, history: [{ action: "RecreatePod", target: first.uid }] });
  for (const pod of replaced) await kubeletReports(pod, 2);
  await whenObject("ladder", { phase: "Running" });

  await kubeletReports(again, 2, 7);
  await whenObject("ladder", { deprecatedEpoch: 2 });
  await restartInPlace(replaced, 3);
  await vi.waitFor(async () => {
    const recreated = readJobSet(await admin.request("GET", `${JOBSETS}/ladder`));
    expect(recreated).toMatchObject({ outcome: "none", restarts: 1, restartsCountTowardsMax: 1 });
  }, PATIENCE);
  const recreated = await whenReplaced("ladder", second);
  await agentsTake(recreated, 3);
  const { status } = await whenObject("ladder", { syncedEpoch: 3, restarts: 1 });
  expect(status?.history.map(({ action, counted }) => [action, counted])).toEqual([
    ["RecreatePod", true],
    ["RecreateJobSet", false],
  ]);
  const events = await eventsOf("ladder");
  expect(events.map(({ reason }) => reason)).toEqual(expect.arrayContaining(["RecreatingPod", "RecreatingJobSet"]));
});

it("recreates a deleted object, with one restart that does not count", async () => {
  const { pods } = await running("lost", 3);
  for (const epoch of [1, 2]) {
    const { uid } = await objectOf("lost");
    await admin.request("DELETE", `${OBJECTS}/lost`);
    await vi.waitFor(async () => expect((await objectOf("lost")).uid).not.toBe(uid), PATIENCE);
    await whenObject("lost", { deprecatedEpoch: epoch, syncedEpoch: epoch, restarts: 0 });
    await agentsTake(pods, epoch + 1);
    const next = await whenObject("lost", { deprecatedEpoch: epoch, syncedEpoch: epoch + 1, restarts: 0 });
    await whenTold(next, { deprecatedEpoch: epoch, syncedEpoch: epoch + 1 });
  }
});

it("replaces an object that belongs to an earlier JobSet of the same name", async () => {
  const spec = { jobSetUID: "6a1b9b1e-0000-4000-8000-000000000001" };
  const body = { apiVersion: "reprise.dev/v1alpha1", kind: "InPlaceRestart", metadata: { name: "again" }, spec };
  await admin.request("POST", OBJECTS, { body });
  const created = await apply(train("again", 3));
  await vi.waitFor(async () => expect((await objectOf("again")).jobSetUID).toBe(created.uid), PATIENCE);
  await agentsTake(await whenPods("again"), 1);
  await whenObject("again", { syncedEpoch: 1 });
});

const BINDINGS = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/rolebindings`;

function bindingOf({ name, uid }: Identity, purpose: string): string {
  return `${BINDINGS}/reprise-agent-${purpose}-${name}-${uid.slice(0, 8)}`;
}

async function whenGone(path: string): Promise<void> {
  await vi.waitFor(async () => {
    const answer = await admin.request("GET", path).catch((error: unknown) => error);
    expect(hasStatus(answer, 404)).toBe(true);
  }, PATIENCE);
}

it("leaves nothing behind when the JobSet is deleted", async () => {
  const created = await apply(train("gone", 3));
  const object = await whenObject(created.name, { syncedEpoch: 0 });
  const bindings = [bindingOf(object, "read"), bindingOf(object, "write-default")];
  for (const binding of bindings) await vi.waitFor(() => admin.request("GET", binding), PATIENCE);
  await whenTold(object, { syncedEpoch: 0 });
  await admin.request("DELETE", `${JOBSETS}/gone`);
  for (const path of [...bindings, `${OBJECTS}/gone`, `${EPOCHS}/${created.uid}`]) await whenGone(path);
});

it("removes the agents' access with the object, and grants it again with the next one", async () => {
  const created = await apply(train("replaced", 3));
  const first = await whenObject(created.name, { syncedEpoch: 0 });
  await vi.waitFor(() => admin.request("GET", bindingOf(first, "write-default")), PATIENCE);
  await admin.request("DELETE", `${OBJECTS}/replaced`);
  await whenGone(bindingOf(first, "write-default"));
  const next = await whenObject(created.name, { syncedEpoch: 0 });
  expect(next.uid).not.toBe(first.uid);
  await vi.waitFor(() => admin.request("GET", bindingOf(next, "write-default")), PATIENCE);
});

it("frees a Pod with consent that is stuck on a lost node", async () => {
  const taints = [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }];
  // A second node must stay reachable, or the control plane counts as cut off.
  await admin.request("POST", "/api/v1/nodes", { body: { metadata: { name: "alive" } } });
  const ready = { status: { conditions: [{ type: "Ready", status: "True", reason: "KubeletReady", message: "" }] } };
  await admin.request("PATCH", "/api/v1/nodes/alive/status", { body: ready, contentType: MERGE_PATCH });
  await admin.request("POST", "/api/v1/nodes", { body: { metadata: { name: "lost" }, spec: { taints } } });
  const body = {
    metadata: { name: "stuck", annotations: { [ANNOTATION.safeToForcefullyDelete]: "true" } },
    spec: { nodeName: "lost", containers: [{ name: "main", image: "none" }] },
  };
  await admin.request("POST", PODS, { body });
  await admin.request("DELETE", `${PODS}/stuck`, { body: { gracePeriodSeconds: 1 } });
  // No kubelet reports for these nodes, so the node lifecycle controller may remove the taint at any time.
  await vi.waitFor(async () => {
    await admin.request("PATCH", "/api/v1/nodes/lost", { body: { spec: { taints } }, contentType: MERGE_PATCH });
    const answer = await admin.request("GET", `${PODS}/stuck`).catch((error: unknown) => error);
    expect(hasStatus(answer, 404)).toBe(true);
  }, PATIENCE);
  for (const node of ["lost", "alive"]) await admin.request("DELETE", `/api/v1/nodes/${node}`);
});

it("restores deleted access of agents once its cached check has expired", async () => {
  const created = await apply(train("unbound", 3));
  const object = await whenObject(created.name, { syncedEpoch: 0 });
  const binding = bindingOf(object, "write-default");
  await vi.waitFor(() => admin.request("GET", binding), PATIENCE);
  let minutes = 0;
  const access = new AgentAccess(admin, () => minutes * 60_000);
  const ensure = () => access.ensure("team/unbound", created, object, AbortSignal.timeout(5_000));
  await ensure();
  await admin.request("DELETE", binding);
  minutes = 4;
  expect(await ensure()).toBe(60_000);
  await expect(admin.request("GET", binding)).rejects.toThrow("not found");
  minutes = 5;
  await ensure();
  expect(await admin.request("GET", binding)).toMatchObject({
    roleRef: { kind: "ClusterRole", name: "reprise-agent-writer" },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace: NAMESPACE }],
  });
});

it("grants nothing to an account that can already patch Pods, so that no policy restricts it", async () => {
  await cluster.kubectl(["create", "role", "patcher", "-n", NAMESPACE, "--verb=patch", "--resource=pods"]);
  const subject = `--serviceaccount=${NAMESPACE}:first`;
  await cluster.kubectl(["create", "rolebinding", "patcher", "-n", NAMESPACE, "--role=patcher", subject]);
  const created = await apply(
    jobSet("mixed")
      .annotation(ANNOTATION.replicatedJobs, "a,b")
      .replicatedJob("a", { pods: 1, pod: { serviceAccountName: "first" } })
      .replicatedJob("b", { pods: 1, pod: { serviceAccountName: "second" } })
      .replicatedJob("c", { pods: 1, pod: { serviceAccountName: "without-agent" } }),
  );
  const object = await whenObject(created.name, { syncedEpoch: 0 });
  await vi.waitFor(() => admin.request("GET", bindingOf(object, "write-second")), PATIENCE);
  const subjects = [{ name: "first" }, { name: "second" }];
  const reader = await admin.request("GET", bindingOf(object, "read"));
  expect(reader).toMatchObject({ roleRef: { name: "reprise-agent-reader" }, subjects });
  for (const account of ["first", "without-agent"]) {
    await expect(admin.request("GET", bindingOf(object, `write-${account}`))).rejects.toThrow("not found");
  }

  // A second JobSet must not mistake the permission that the first one granted for the account's own.
  const access = new AgentAccess(admin, Date.now);
  const keepsOwn = { ...created, failurePolicy: { maxRestarts: 1, restartStrategy: "InPlaceRestart" } };
  await access.ensure("team/mixed", keepsOwn, undefined, AbortSignal.timeout(5_000));
  // JobSet's manager accepts such a JobSet only with its feature gate.
  const follower = await admin.request("GET", bindingOf(created, "read"));
  expect(follower).toMatchObject({ roleRef: { name: "reprise-agent-jobset-reader" }, subjects });
  const again = await apply(
    jobSet("again-mixed").replicatedJob("b", { pods: 1, pod: { serviceAccountName: "second" } }),
  );
  const next = await whenObject(again.name, { syncedEpoch: 0 });
  await vi.waitFor(() => admin.request("GET", bindingOf(next, "write-second")), PATIENCE);
});

it.each(["ends", "begins"])(
  "does not mistake a granted permission for the account's own when the other JobSet %s meanwhile",
  async (change) => {
    const account = `shared-${change}`;
    const other = await apply(
      jobSet(`other-${change}`).replicatedJob("b", { pods: 1, pod: { serviceAccountName: account } }),
    );
    const object = await whenObject(other.name, { syncedEpoch: 0 });
    const path = bindingOf(object, `write-${account}`);
    const { roleRef, subjects, metadata } = await vi.waitFor(() => admin.request("GET", path), PATIENCE);
    const remove = () => admin.request("DELETE", path);
    const make = () =>
      admin.request("POST", BINDINGS, { body: { roleRef, subjects, metadata: { name: asMap(metadata)["name"] } } });
    const [before, during] = change === "ends" ? [undefined, remove] : [remove, make];
    await before?.();
    if (before !== undefined) await whenMay(account, false);

    // The change happens between the first access review of the account and the second.
    const bound: unknown[] = [];
    let reviews = 0;
    const access = new AgentAccess(
      {
        async request(method, requested, options) {
          if (requested === BINDINGS) bound.push(asMap(asMap(options.body)["metadata"])["name"]);
          const answer = await admin.request(method, requested, options);
          reviews += requested === REVIEWS ? 1 : 0;
          if (requested !== REVIEWS || reviews > 1) return answer;
          await during();
          await whenMay(account, change === "begins");
          return answer;
        },
      },
      Date.now,
    );
    await access.ensure("team/shared", other, object, AbortSignal.timeout(30_000));
    expect(bound).toContain(path.split("/").at(-1));
  },
);

/** Waits until the account can, or can no longer, patch Pods. */
async function whenMay(account: string, allowed: boolean): Promise<void> {
  const user = `system:serviceaccount:${NAMESPACE}:${account}`;
  const resourceAttributes = { namespace: NAMESPACE, verb: "patch", resource: "pods" };
  await vi.waitFor(async () => {
    const answer = await admin.request("POST", REVIEWS, { body: { spec: { user, resourceAttributes } } });
    expect(asMap(answer["status"])["allowed"]).toBe(allowed);
  }, PATIENCE);
}

it("reports a JobSet that opted in but was created without injection, and no other", async () => {
  await apply(train("missed", 3), { plain: true });
  await apply(train("opted-out", 3).annotation(ANNOTATION.inject, "false"), { plain: true });
  const [event] = await vi.waitFor(async () => {
    const events = await eventsOf("missed");
    expect(events).toHaveLength(1);
    return events;
  }, PATIENCE);
  expect(event).toMatchObject({
    type: "Warning",
    reason: "NotInjected",
    regarding: { kind: "JobSet", name: "missed" },
  });
  expect(await eventsOf("opted-out")).toEqual([]);
  for (const controller of controllers.values()) {
    expect(await metricsOf(controller)).toMatch(/^reprise_controller_not_injected 1$/m);
  }
});

it("hands over to the other replica, which continues in the middle of a restart", async () => {
  const { pods } = await running("handed-over", 3);
  const [first] = pods;
  if (first === undefined) throw new Error("a Pod expected");
  await kubeletReports(first, 1, 3);
  await whenObject("handed-over", { deprecatedEpoch: 1 });
  const leader = await leaderIdentity();
  expect(await metricsOf(controllers.get(leader))).toMatch(/^reprise_controller_leader 1$/m);
  for (const [identity, controller] of controllers) {
    const role = identity === leader ? "leading\n" : `standing by, leader is ${leader}\n`;
    await vi.waitFor(async () => expect(await readinessOf(controller)).toEqual([200, role]), PATIENCE);
  }
  await controllers.get(leader)?.shutdown();
  controllers.delete(leader);
  await agentsTake(pods, 2);
  await whenObject("handed-over", { syncedEpoch: 2, restarts: 1 });
  const successor = await leaderIdentity();
  expect([...controllers.keys()]).toEqual([successor]);
  expect(await readinessOf(controllers.get(successor))).toEqual([200, "leading\n"]);
});

it("as a command takes over, and on SIGTERM releases the Lease and exits", async () => {
  const healthPort = await freePort();
  const config = join(folder, "config.yaml");
  writeFileSync(config, stringify({ controller: { healthPort } }));
  const kubeconfig = join(folder, "controller.kubeconfig");
  writeFileSync(kubeconfig, (await serviceAccountConfig("reprise-system", "reprise-controller")).exportConfig());
  const main = join(import.meta.dirname, "../../src/cli/main.ts");
  const argv = [main, "controller", "--config", config, "--kubeconfig", kubeconfig, "--log-level", "error"];
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(child, "exit");
  try {
    await vi.waitFor(async () => {
      expect((await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status).toBe(200);
    }, PATIENCE);
    for (const controller of controllers.values()) await controller.shutdown();
    controllers.clear();
    await vi.waitFor(async () => expect(await leaderIdentity()).toContain(hostname()), PATIENCE);
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    expect(await leaderIdentity()).toBe("");
  } finally {
    child.kill("SIGKILL");
  }
});

it("was never denied a request, and has no permission that it did not use", async () => {
  const requests = readFileSync(join(folder, "audit.log"), "utf8")
    .trim()
    .split("\n")
    .map((line) => asMap(JSON.parse(line)));
  const refused = requests.filter((request) => asMap(request["responseStatus"])["code"] === 403);
  expect(refused.map((request) => request["requestURI"])).toEqual([]);
  // Every account can read the version and the list of APIs.
  const aboutObjects = requests.filter(({ objectRef }) => objectRef !== undefined);
  const used = new Set(aboutObjects.map(({ verb, objectRef }) => rightOf(verb, asMap(objectRef))));
  const manifests = parseAllDocuments(readFileSync("manifests/controller/rbac.yaml", "utf8")).map((one) =>
    asMap(one.toJS()),
  );
  const granted = new Set(manifests.flatMap(({ rules }) => asList(rules)).flatMap((rule) => rightsIn(asMap(rule))));
  // No request needs it, but the API server checks it when a RoleBinding is created.
  granted.delete("bind rbac.authorization.k8s.io/clusterroles");
  expect([...granted].sort()).toEqual([...used].sort());
});

async function readinessOf(controller: RunningController | undefined): Promise<[number, string]> {
  const response = await fetch(`http://127.0.0.1:${controller?.healthPort}/readyz`);
  return [response.status, await response.text()];
}

function rightOf(verb: unknown, { apiGroup, resource, subresource }: Readonly<Record<string, unknown>>): string {
  return `${verb} ${apiGroup ?? ""}/${resource}${subresource === undefined ? "" : `/${subresource}`}`;
}

function rightsIn({ apiGroups, resources, verbs }: Readonly<Record<string, unknown>>): string[] {
  return asList(apiGroups).flatMap((group) =>
    asList(resources).flatMap((resource) => asList(verbs).map((verb) => `${verb} ${group}/${resource}`)),
  );
}
