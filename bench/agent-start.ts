// Compares our agent with upstream's as processes beside one API server: from process start to the attempt on the Pod
// and to a lifted barrier, and the memory held then. Both speak upstream's protocol, so
// both do the same work. They take turns, so that a busy machine affects both alike. `node bench/agent-start.ts
// [REPETITIONS] [CPU_LIMIT]`, the limit in millicores, as limits.cpu of a container.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, type NetConnectOpts, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { socketPath } from "../agent/barrier/agent-files.ts";
import { NodeApiClient } from "../agent/testing/node-api-client.ts";
import { nativeArch } from "../scripts/architectures.ts";
import { buildAgent } from "../scripts/build-agent.ts";
import { BARRIER_PATH, BARRIER_PORT_ENV, JOBSET } from "../src/api/names.ts";
import { asMap } from "../src/json/fields.ts";
import { lines } from "../src/kube/lines.ts";
import { agentEnv } from "../test/builders/agent-env.ts";
import { assetFolder, ensureBinaries } from "../test/cluster/binaries.ts";
import { startControlPlane } from "../test/cluster/control-plane.ts";
import { waitFor } from "../test/cluster/proc.ts";
import { terminalProgress } from "../test/cluster/progress.ts";
import { freePort } from "../test/free-port.ts";
import { type Memory, memoryOf } from "./process-memory.ts";
import { median } from "./quantile.ts";

const REPETITIONS = Number(process.argv[2] ?? 15);
const CPU_LIMIT = Number(process.argv[3] ?? 0);

/** Wait before memory is read, until garbage of the start is collected and the watch is quiet. */
const SETTLE_MS = 1_000;

/** A start that takes longer than this has failed. */
const START_LIMIT_MS = 30_000;

/** Where upstream's agent reads its credentials; the path is fixed. */
const POD_CREDENTIALS = "/run/secrets/kubernetes.io/serviceaccount";

/**
 * Both agents start from this shell, which has the credentials where a Pod has them. It execs the agent on demand, so
 * that only the agent's own time counts.
 */
const LAUNCHER = `mount -t tmpfs tmpfs /run && mkdir -p ${POD_CREDENTIALS} &&
cp "$CREDENTIALS_FOLDER"/* ${POD_CREDENTIALS} && echo ready && read -r _ && exec "$0" "$@"`;

interface Contender {
  readonly program: string;
  /** Where it answers when the barrier has lifted. */
  readonly address: (group: Group, port: number) => NetConnectOpts;
  /** The request, and how a positive answer begins. */
  readonly question: string;
  readonly yes: string;
  readonly env: (group: Group, port: number) => Readonly<Record<string, string>>;
}

/** A JobSet and one Pod of it. */
interface Group {
  readonly name: string;
  readonly jobSetUid: string;
  readonly podUid: string;
}

interface Start extends Memory {
  /** Milliseconds until the attempt was on the Pod. */
  readonly published: number;
  /** Milliseconds until the agent says that the barrier has lifted. The JobSet has none. */
  readonly answered: number;
  /** Milliseconds until it accepted a connection. Upstream's opens only when its barrier lifts. */
  readonly listening: number;
}

const cpuGroup = CPU_LIMIT > 0 ? createCpuGroup(CPU_LIMIT) : undefined;
const folder = mkdtempSync(join(tmpdir(), "reprise-bench-"));
const credentials = join(folder, "credentials");
const binaries = await ensureBinaries(["jobset"], terminalProgress());
const cluster = await startControlPlane();
const { hostname, port: serverPort } = new URL(cluster.server);

const CONTENDERS = {
  reprise: {
    program: buildAgent(nativeArch(), folder),
    address: (_group, port) => ({ port, host: "127.0.0.1" }),
    question: `GET ${BARRIER_PATH} HTTP/1.1\r\n\r\n`,
    yes: "HTTP/1.1 200 OK",
    env: ({ name, jobSetUid, podUid }, port) => ({
      ...agentEnv({ podName: name, podUid, jobSetName: name, jobSetUid, protocol: "jobset" }),
      [BARRIER_PORT_ENV]: String(port),
    }),
  },
  upstream: {
    program: binaries("jobset", "in-place-restart-agent"),
    address: (_group, port) => ({ port, host: "127.0.0.1" }),
    question: "GET /barrier-is-down HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n",
    yes: "HTTP/1.1 200 OK",
    env: ({ name }, port) => ({ JOBSET_NAME: name, POD_NAME: name, STARTUP_PROBE_PORT: String(port) }),
  },
} as const satisfies Record<string, Contender>;

try {
  await prepare();
  const released = await createGroup("released", { "jobset.sigs.k8s.io/disable-in-place-restart": "true" });
  const starts = { reprise: [] as Start[], upstream: [] as Start[] };
  for (let i = 0; i < REPETITIONS; i++) {
    for (const name of ["reprise", "upstream"] as const) {
      const group = await createGroup(`${name}-${i}`);
      starts[name].push({
        ...(await untilPublished(CONTENDERS[name], group)),
        ...(await untilAnswered(CONTENDERS[name], released)),
      });
    }
  }
  report(starts.reprise, starts.upstream);
} finally {
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
  if (cpuGroup !== undefined) await removeCpuGroup(cpuGroup);
}

async function prepare(): Promise<void> {
  const { kubectl } = cluster;
  const crd = join(assetFolder("jobset"), "components/crd/bases/jobset.x-k8s.io_jobsets.yaml");
  await kubectl(["apply", "--server-side", "-f", crd]);
  // Wait for any condition first: kubectl fails on a CRD that has none yet.
  for (const state of ["jsonpath={.status.conditions}", "condition=Established"]) {
    await kubectl(["wait", `--for=${state}`, "--timeout=30s", "crd", "--all"]);
  }
  await kubectl(["create", "serviceaccount", "agent"]);
  const resources = `--resource=pods,${JOBSET.plural}.${JOBSET.group}`;
  await kubectl(["create", "role", "agent", "--verb=get,list,watch,patch", resources]);
  await kubectl(["create", "rolebinding", "agent", "--role=agent", "--serviceaccount=default:agent"]);
  mkdirSync(credentials);
  copyFileSync(cluster.credentials.path("ca.crt"), join(credentials, "ca.crt"));
  writeFileSync(join(credentials, "token"), await kubectl(["create", "token", "agent"]));
  writeFileSync(join(credentials, "namespace"), "default");
}

async function createGroup(name: string, annotations: Readonly<Record<string, string>> = {}): Promise<Group> {
  const spec = { failurePolicy: { maxRestarts: 3, restartStrategy: "InPlaceRestart" }, replicatedJobs: [] };
  const apiVersion = `${JOBSET.group}/${JOBSET.version}`;
  const jobSet = { apiVersion, kind: JOBSET.kind, metadata: { name, annotations }, spec };
  const containers = [{ name: "main", image: "worker" }];
  const podSpec = { serviceAccountName: "agent", automountServiceAccountToken: false, containers };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: podSpec };
  const list = { apiVersion: "v1", kind: "List", items: [jobSet, pod] };
  const created = await cluster.kubectl(["create", "-f", "-", "-o", "jsonpath={.metadata.uid} "], {
    input: JSON.stringify(list),
  });
  const [jobSetUid = "", podUid = ""] = created.trim().split(/\s+/);
  return { name, jobSetUid, podUid };
}

/** With the CFS period of 100 ms that the kubelet uses. */
function createCpuGroup(millicores: number): string {
  const unified = existsSync("/sys/fs/cgroup/cgroup.controllers");
  const group = join(unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu", `reprise-bench-${process.pid}`);
  mkdirSync(group);
  if (unified) writeFileSync(join(group, "cpu.max"), `${millicores * 100} 100000`);
  else writeFileSync(join(group, "cpu.cfs_quota_us"), String(millicores * 100));
  return group;
}

/** The kernel releases an ended process a little later, especially with little CPU time. */
async function removeCpuGroup(group: string): Promise<void> {
  await waitFor(`${group} is removed`, 10_000, () => {
    rmdirSync(group);
    return true;
  });
}

/** Starts a launched agent and measures from now on. */
async function launch(contender: Contender, group: Group) {
  const port = await freePort();
  const command = ["--user", "--map-root-user", "--mount", "sh", "-c", LAUNCHER, contender.program];
  const child = spawn("unshare", command, {
    env: {
      PATH: process.env["PATH"],
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: serverPort,
      CREDENTIALS_FOLDER: credentials,
      ...contender.env(group, port),
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = once(child, "close");
  await Promise.race([once(child.stdout, "data"), ended]);
  if (child.exitCode !== null) throw new Error(`the launcher failed with ${child.exitCode}; unshare needs namespaces`);
  child.stdout.resume();
  if (cpuGroup !== undefined) writeFileSync(join(cpuGroup, "cgroup.procs"), String(child.pid));
  child.stdin.write("\n");
  const began = performance.now();
  return {
    port,
    pid: child.pid ?? 0,
    elapsed: () => performance.now() - began,
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
      rmSync(socketPath(group.podUid), { force: true });
    },
  };
}

async function untilPublished(contender: Contender, group: Group): Promise<Memory & Pick<Start, "published">> {
  const seen = attemptOn(group);
  const agent = await launch(contender, group);
  try {
    await seen;
    const published = agent.elapsed();
    await sleep(SETTLE_MS);
    return { published, ...memoryOf(agent.pid) };
  } finally {
    await agent.stop();
  }
}

/** Resolves when the Pod carries an attempt. */
async function attemptOn({ name }: Group): Promise<void> {
  const server = new NodeApiClient({ host: hostname, port: Number(serverPort) }, credentials);
  const path = `/api/v1/namespaces/default/pods?watch=true&fieldSelector=metadata.name%3D${name}`;
  for await (const line of lines(await server.open({ method: "GET", path }))) {
    const { metadata } = asMap(asMap(JSON.parse(line))["object"]);
    if (JOBSET.inPlaceRestartAttemptAnnotation in asMap(asMap(metadata)["annotations"])) return;
  }
  throw new Error(`the watch of Pod ${name} ended early`);
}

async function untilAnswered(contender: Contender, group: Group): Promise<Pick<Start, "listening" | "answered">> {
  const agent = await launch(contender, group);
  try {
    let socket = await connectTo(contender.address(group, agent.port));
    while (socket === undefined) {
      if (agent.elapsed() > START_LIMIT_MS) throw new Error(`${contender.program} does not listen`);
      await sleep(1);
      socket = await connectTo(contender.address(group, agent.port));
    }
    const listening = agent.elapsed();
    socket.write(contender.question);
    const [answer] = await once(socket, "data");
    socket.destroy();
    if (!String(answer).startsWith(contender.yes)) throw new Error(`${contender.program} answered ${answer}`);
    return { listening, answered: agent.elapsed() };
  } finally {
    await agent.stop();
  }
}

function connectTo(address: NetConnectOpts): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(address, () => resolve(socket));
    socket.once("error", () => resolve(undefined));
  });
}

function report(ours: readonly Start[], theirs: readonly Start[]): void {
  const rows: [keyof Start, string][] = [
    ["listening", "start to accepting, ms"],
    ["answered", "start to barrier lifted, ms"],
    ["published", "start to attempt published, ms"],
    ["rss", "resident memory, MiB"],
    ["own", "of which private, MiB"],
  ];
  process.stdout.write(
    `${"median of"} ${ours.length} starts each${"reprise".padStart(22)}${"upstream".padStart(10)}   ratio\n`,
  );
  for (const [key, label] of rows) {
    const [mine, other] = [median(ours.map((start) => start[key])), median(theirs.map((start) => start[key]))];
    const cells = [mine.toFixed(1).padStart(10), other.toFixed(1).padStart(10), (mine / other).toFixed(2).padStart(8)];
    process.stdout.write(`${label.padEnd(36)}${cells.join("")}\n`);
  }
}
