// What the admission policies cost the API server: node bench/policies.ts [--policies FOLDER] [--rounds N]
// The same PATCHes with no policy and with ours, in turn, on one real API server, as CPU time of its process. Agents
// send theirs with the token of their own Pod. Compare the differences: the PATCH itself depends on the machine.
import { mkdirSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { GroupObject } from "../agent/api/group-object.ts";
import { readConfig } from "../agent/config.ts";
import { NodeApiClient } from "../agent/testing/node-api-client.ts";
import { AGENT_ENV, COMPLETION_INDEX_LABEL, JOBSET, LABEL } from "../src/api/names.ts";
import { asList, asMap, asText } from "../src/json/fields.ts";
import type { JsonObject } from "../src/json/types.ts";
import { connect, KubeClient, MERGE_PATCH } from "../src/kube/client.ts";
import { create, injected } from "../test/builders/injection.ts";
import { type ControlPlane, startControlPlane } from "../test/cluster/control-plane.ts";
import { waitFor } from "../test/cluster/proc.ts";
import { tokenConfig } from "../test/reprise-programs.ts";
import { jobSet } from "./jobsets.ts";
import { cpuMs, pidOf } from "./process-cpu.ts";
import { median } from "./quantile.ts";
import { checkGates } from "./ranges.ts";

const NAMESPACE = "bench";
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
/** As on every Pod of a Job. */
const TRACKING = "batch.kubernetes.io/job-tracking";
/** As many as a busy API server works on at a time. */
const PARALLEL = 8;
/** The API server has compiled the policies when they are enforced, and its heap has settled a little later. */
const SETTLE_MS = 1_500;

const { values: options } = parseArgs({
  options: {
    policies: { type: "string", default: "manifests/agent" },
    pods: { type: "string", default: "200" },
    passes: { type: "string", default: "4" },
    rounds: { type: "string", default: "5" },
  },
});
const podCount = Number(options.pods);
/** Requests to each Pod in one sample. With few requests, one garbage collection more or less is what is measured. */
const passes = Number(options.passes);
const rounds = Number(options.rounds);

interface BenchPod {
  readonly name: string;
  readonly uid: string;
}

/** A member of the group, with the requests of its agent. */
interface Member extends BenchPod {
  readonly agent: GroupObject;
  readonly token: string;
}

type Variant = "without" | "with";

/** One kind of write. Each sends one request about one of the Pods. */
interface Case {
  readonly name: string;
  readonly send: (index: number, epoch: number) => Promise<unknown>;
}

const clients: KubeClient[] = [];
console.log(`load average at the start: ${load()}`);
const plane = await startControlPlane();
try {
  process.exitCode = checkGates("policies", await measure(plane)) ? 0 : 1;
} finally {
  await Promise.all(clients.map((client) => client.close()));
  await plane.stop();
}

async function measure(cluster: ControlPlane): Promise<Record<string, number>> {
  const { kubectl } = cluster;
  const admin = remember(connect({ kubeconfig: cluster.kubeconfig }));
  await kubectl(["create", "namespace", NAMESPACE]);
  for (const account of ["default", "trainer", "operator"]) await ensureAccount(account, cluster);
  await kubectl(["apply", "--server-side", "-k", options.policies]);
  await removePolicies(admin);
  const bind = ["create", "rolebinding", "-n", NAMESPACE];
  await kubectl([...bind, "trainer", "--clusterrole=reprise-agent-writer", `--serviceaccount=${NAMESPACE}:trainer`]);
  // Not the ClusterRole edit, which is empty without a controller manager.
  await kubectl(["create", "role", "operator", "-n", NAMESPACE, "--verb=create,patch,update", "--resource=pods"]);
  await kubectl([...bind, "operator", "--role=operator", `--serviceaccount=${NAMESPACE}:operator`]);
  const operator = remember(clientWith(cluster, await tokenOf(admin, "operator")));

  const members: Member[] = [];
  const others: BenchPod[] = [];
  for (let index = 0; index < podCount; index++) {
    members.push(await createMember(cluster, admin, index));
    others.push(await createPod(admin, index, false));
  }
  const first = members[0];
  if (first === undefined) throw new Error("there are no Pods");
  const size = Buffer.byteLength(JSON.stringify(await admin.request("GET", `${PODS}/${first.name}`)));
  console.log(`${podCount} members and ${podCount} other Pods of ${size} bytes, ${rounds} rounds`);

  const annotate = (by: KubeClient, index: number, round: number) =>
    by.request("PATCH", `${PODS}/${others[index]?.name}`, {
      body: { metadata: { annotations: { "example.com/checked": String(round) } } },
      contentType: MERGE_PATCH,
    });
  const cases: readonly Case[] = [
    { name: "epoch, by the Pod's agent", send: async (index, epoch) => await members[index]?.agent.publish(epoch) },
    { name: "other Pod, by a user", send: (index, round) => annotate(admin, index, round) },
    { name: "other Pod, by a service account", send: (index, round) => annotate(operator, index, round) },
    {
      name: "creation of a member",
      send: () => admin.request("POST", PODS, { query: { dryRun: "All" }, body: podBody("new-", true) }),
    },
    // No policy is evaluated here: what this shows is the spread of the measurement.
    {
      name: "creation of another Pod",
      send: () => admin.request("POST", PODS, { query: { dryRun: "All" }, body: podBody("new-", false) }),
    },
  ];
  const probe = remember(clientWith(cluster, first.token));
  const switchTo = async (variant: Variant) => {
    if (variant === "without") await removePolicies(admin);
    else await kubectl(["apply", "--server-side", "-k", options.policies]);
    await waitFor(`requests ${variant} policies`, 30_000, async () => {
      const refusals = await forgeries({ admin, operator, agent: probe }, first);
      return refusals.every((isRefused) => isRefused === (variant === "with")) || undefined;
    });
    await sleep(SETTLE_MS);
  };
  return await inTurn(pidOf(join(cluster.folder, "pki")), cases, switchTo);
}

/** CPU time per request for each case and variant, in alternating order. */
async function inTurn(
  apiServer: number,
  cases: readonly Case[],
  switchTo: (variant: Variant) => Promise<void>,
): Promise<Record<string, number>> {
  const taken = new Map(cases.map(({ name }) => [name, { without: [] as number[], with: [] as number[] }]));
  let epoch = 1;
  // The first round warms up and does not count.
  for (let round = 0; round <= rounds; round++) {
    const order = round % 2 === 0 ? (["without", "with"] as const) : (["with", "without"] as const);
    for (const variant of order) {
      await switchTo(variant);
      for (const { name, send } of cases) {
        const before = cpuMs(apiServer);
        await sendAll((request) => send(request % podCount, epoch + Math.floor(request / podCount)));
        const each = (cpuMs(apiServer) - before) / (podCount * passes);
        if (round > 0) taken.get(name)?.[variant].push(each);
      }
      epoch += passes;
    }
  }
  const figures: Record<string, number> = {};
  const rows = [...taken].map(([name, figure]) => {
    const differences = figure.with.map((value, index) => value - (figure.without[index] ?? Number.NaN));
    figures[`${name}, ms more`] = median(differences);
    return {
      request: name,
      "without, ms": round2(median(figure.without)),
      "with, ms": round2(median(figure.with)),
      "more, ms": round2(median(differences)),
      "more in each round": differences.map((value) => value.toFixed(2)).join(" "),
    };
  });
  console.log(`\nCPU time of the API server per request, median of ${rounds} rounds; policies: ${options.policies}`);
  console.table(rows);
  console.log(`load average at the end: ${load()}`);
  return figures;
}

async function sendAll(send: (request: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const sender = async () => {
    while (next < podCount * passes) await send(next++);
  };
  await Promise.all(Array.from({ length: PARALLEL }, sender));
}

/** Without a policy binding, no policy is evaluated. */
async function removePolicies(admin: KubeClient): Promise<void> {
  const path = `${ADMISSION}/validatingadmissionpolicybindings`;
  for (const item of asList((await admin.request("GET", path))["items"])) {
    await admin.request("DELETE", `${path}/${asText(asMap(asMap(item)["metadata"])["name"])}`);
  }
}

/** One request for each guarantee. True if it was refused. Nothing is stored. */
async function forgeries(
  by: { readonly admin: KubeClient; readonly operator: KubeClient; readonly agent: KubeClient },
  { name }: BenchPod,
): Promise<readonly boolean[]> {
  const query = { dryRun: "All" };
  const patch = (client: KubeClient, metadata: JsonObject) =>
    client.request("PATCH", `${PODS}/${name}`, { query, body: { metadata }, contentType: MERGE_PATCH });
  const requests = [
    patch(by.admin, { annotations: { [JOBSET.epochAnnotation]: "2147483647" } }),
    patch(by.agent, { labels: { other: "1" } }),
    by.operator.request("POST", PODS, { query, body: podBody("forged-", true) }),
  ];
  return await Promise.all(
    requests.map((request) =>
      request.then(
        () => false,
        (error: unknown) => {
          if (String(error).includes("ValidatingAdmissionPolicy")) return true;
          throw error;
        },
      ),
    ),
  );
}

async function createMember(cluster: ControlPlane, admin: KubeClient, index: number): Promise<Member> {
  const pod = await createPod(admin, index, true);
  const token = await tokenOf(admin, "trainer", pod);
  const folder = join(cluster.folder, `agent-${index}`);
  mkdirSync(folder);
  writeFileSync(join(folder, "token"), token);
  writeFileSync(join(folder, "ca.crt"), cluster.credentials.authority.cert);
  const { hostname, port } = new URL(cluster.server);
  const config = readConfig({
    [AGENT_ENV.namespace]: NAMESPACE,
    [AGENT_ENV.podName]: pod.name,
    [AGENT_ENV.podUid]: pod.uid,
    [AGENT_ENV.jobSetName]: "train",
    [AGENT_ENV.jobSetUid]: "3f3c7a51-0b0e-4f0e-8f51-5f1f6a1f3b11",
    [AGENT_ENV.replicatedJob]: "workers-0",
    [AGENT_ENV.restartExitCode]: "88",
    [AGENT_ENV.protocol]: "epoch",
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
  });
  return { ...pod, token, agent: new GroupObject(new NodeApiClient(config.server, folder), config) };
}

async function createPod(admin: KubeClient, index: number, isMember: boolean): Promise<BenchPod> {
  const created = await admin.request("POST", PODS, { body: podBody(`train-workers-0-0-${index}-`, isMember) });
  const metadata = asMap(created["metadata"]);
  const pod = { name: String(metadata["name"]), uid: String(metadata["uid"]) };
  const body = { status: runningStatus(asMap(created["spec"])) };
  await admin.request("PATCH", `${PODS}/${pod.name}/status`, { body, contentType: MERGE_PATCH });
  return pod;
}

/** A Pod of an injected JobSet, with the labels that JobSet and the Job controller add. */
function podBody(generateName: string, isMember: boolean): JsonObject {
  const object = injected(create(jobSet("6 KB", NAMESPACE)));
  const job = asMap(asList(asMap(object["spec"])["replicatedJobs"])[0]);
  const template = asMap(asMap(asMap(asMap(job["template"])["spec"]))["template"]);
  const { labels = {}, annotations = {} } = asMap(template["metadata"]) as { labels?: object; annotations?: object };
  const own = {
    [JOBSET.nameKey]: "train",
    [JOBSET.replicatedJobKey]: "workers-0",
    [COMPLETION_INDEX_LABEL]: "0",
    "batch.kubernetes.io/job-name": "train-workers-0-0",
    "batch.kubernetes.io/controller-uid": "5b8d0a5e-2d2c-4f0a-a9d1-0d8a5f0f5a10",
  };
  const all: Record<string, unknown> = { ...labels, ...own };
  if (!isMember) delete all[LABEL.injected];
  return {
    metadata: { generateName, labels: all, annotations: { ...annotations, ...own }, finalizers: [TRACKING] },
    spec: { ...asMap(template["spec"]), serviceAccountName: "trainer" },
  } as JsonObject;
}

/** What a kubelet reports for a Pod whose containers run. */
function runningStatus(spec: Readonly<Record<string, unknown>>): JsonObject {
  const at = "2026-11-18T12:00:00Z";
  const types = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
  const running = (container: unknown) => {
    const { name, image } = asMap(container);
    const containerID = `containerd://${"0123456789abcdef".repeat(4)}`;
    const imageID = `${image}@sha256:${"0123456789abcdef".repeat(4)}`;
    const state = { running: { startedAt: at } };
    const lastState = { terminated: { exitCode: 88, reason: "Error", startedAt: at, finishedAt: at, containerID } };
    return { name, image, imageID, containerID, state, lastState, ready: true, started: true, restartCount: 1 };
  };
  return {
    phase: "Running",
    startTime: at,
    hostIP: "10.0.0.9",
    hostIPs: [{ ip: "10.0.0.9" }],
    podIP: "10.1.0.9",
    podIPs: [{ ip: "10.1.0.9" }],
    conditions: types.map((type) => ({ type, status: "True", lastTransitionTime: at })),
    initContainerStatuses: asList(spec["initContainers"]).map(running),
    containerStatuses: asList(spec["containers"]).map(running),
  } as JsonObject;
}

async function ensureAccount(name: string, { kubectl }: ControlPlane): Promise<void> {
  await kubectl(["create", "serviceaccount", name, "-n", NAMESPACE]);
}

/** A token of the account, as a kubelet requests it for a Pod. */
async function tokenOf(admin: KubeClient, account: string, pod?: BenchPod): Promise<string> {
  const boundObjectRef = pod && { kind: "Pod", apiVersion: "v1", ...pod };
  const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${account}/token`;
  const spec = { expirationSeconds: 3_600, ...(boundObjectRef && { boundObjectRef }) };
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
  return String(asMap((await admin.request("POST", path, { body }))["status"])["token"]);
}

function clientWith({ server, credentials }: ControlPlane, token: string): KubeClient {
  return new KubeClient(tokenConfig({ url: server, ca: credentials.authority.cert }, token));
}

function remember(client: KubeClient): KubeClient {
  clients.push(client);
  return client;
}

function round2(value: number): number {
  return Number(value.toFixed(2));
}

function load(): string {
  return loadavg()
    .map((each) => each.toFixed(1))
    .join(" ");
}
