// Our agent beside upstream's in Pods of a real kubelet, from their images: from the start of the process to an open port, and the
// memory it holds then. Both follow a JobSet that has no barrier, because upstream's opens its port only when the barrier lifts.
// Interleaved, so that a busy machine disturbs both alike. `node bench/agent-in-cluster.ts [REPETITIONS]`, as root.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { AGENT, AGENT_ENV, JOBSET } from "../src/api/names.ts";
import { ensureBinaries } from "../test/cluster/binaries.ts";
import { Cluster, down, freeSlot } from "../test/cluster/cluster.ts";
import { programArchive } from "../test/cluster/parts/images.ts";
import { allPids, waitFor } from "../test/cluster/proc.ts";
import { terminalProgress } from "../test/cluster/progress.ts";
import { imageName, repriseArchive } from "../test/image/reprise-image.ts";

const REPETITIONS = Number(process.argv[2] ?? 10);
const PORT = 15_467;
const GROUP = "released";
const UPSTREAM_IMAGE = "docker.io/local/in-place-restart-agent:1";

/** The kernel counts the start of a process in these. */
const TICKS_PER_SECOND = 100;

/** Before memory is read: what a start leaves behind is collected, and the watch is quiet. */
const SETTLE_MS = 3_000;

/** Asks for the port of a Pod every millisecond, and prints when it opened: milliseconds since the machine's start. */
const POLLER = `const { connect } = require("node:net");
const ask = () => { const s = connect(${PORT}, "127.0.0.1");
s.once("connect", () => { console.log(Number(process.hrtime.bigint()) / 1e6); process.exit(); });
s.once("error", () => setTimeout(ask, 1)); }; ask(); console.error("asking");`;

interface Start {
  readonly listening: number;
  readonly rss: number;
  readonly own: number;
}

const slot = freeSlot(16);
const progress = terminalProgress();
const binaries = await ensureBinaries(["jobset"], progress);
const cluster = await Cluster.up({ slot, nodes: 1, parts: ["jobset"], upstreamInPlace: true, progress });
try {
  cluster.load(await repriseArchive("bench", progress));
  cluster.load(programArchive(binaries, "jobset", "in-place-restart-agent", UPSTREAM_IMAGE));
  const jobSetUid = await prepare();
  const starts = { reprise: [] as Start[], upstream: [] as Start[] };
  const containers = {
    reprise: {
      image: imageName("bench"),
      command: [AGENT.binary],
      env: {
        [AGENT_ENV.namespace]: "default",
        [AGENT_ENV.podName]: "any",
        [AGENT_ENV.podUid]: "any",
        [AGENT_ENV.jobSetName]: GROUP,
        [AGENT_ENV.jobSetUid]: jobSetUid,
        [AGENT_ENV.replicatedJob]: "workers",
        [AGENT_ENV.restartExitCode]: "88",
        [AGENT_ENV.protocol]: "jobset",
        [AGENT_ENV.port]: String(PORT),
      },
    },
    upstream: {
      image: UPSTREAM_IMAGE,
      command: ["/in-place-restart-agent"],
      env: { JOBSET_NAME: GROUP, POD_NAME: "any", STARTUP_PROBE_PORT: String(PORT) },
    },
  };
  for (let i = 0; i < REPETITIONS; i++) {
    for (const name of ["reprise", "upstream"] as const) {
      starts[name].push(await measure(`${name}-${i}`, containers[name]));
    }
  }
  report(starts.reprise, starts.upstream);
} finally {
  await down(slot);
}

async function prepare(): Promise<string> {
  const { kubectl } = cluster;
  await kubectl(["create", "serviceaccount", "agent"]);
  const resources = `--resource=pods,${JOBSET.plural}.${JOBSET.group}`;
  await kubectl(["create", "role", "agent", "--verb=get,list,watch,patch", resources]);
  await kubectl(["create", "rolebinding", "agent", "--role=agent", "--serviceaccount=default:agent"]);
  const podTemplate = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "c" }] } };
  const jobSet = {
    apiVersion: `${JOBSET.group}/${JOBSET.version}`,
    kind: JOBSET.kind,
    metadata: { name: GROUP, annotations: { "jobset.sigs.k8s.io/disable-in-place-restart": "true" } },
    spec: { suspend: true, replicatedJobs: [{ name: "workers", template: { spec: { template: podTemplate } } }] },
  };
  await kubectl(["create", "-f", "-"], { input: JSON.stringify(jobSet) });
  return await kubectl(["get", "jobset", GROUP, "-o", "jsonpath={.metadata.uid}"]);
}

interface AgentContainer {
  readonly image: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

async function measure(name: string, { image, command, env }: AgentContainer): Promise<Start> {
  // The first container opens the Pod's network and waits, so that the port is asked for before the agent starts.
  const gate = "while [ ! -e /gate/open ]; do sleep 0.05; done";
  const gateMount = { name: "gate", mountPath: "/gate" };
  const token = { name: "token", mountPath: AGENT.tokenMountPath, readOnly: true };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      serviceAccountName: "agent",
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 0,
      initContainers: [
        { name: "gate", image: "local/busybox:1", command: ["sh", "-c", gate], volumeMounts: [gateMount] },
      ],
      containers: [
        {
          name: "agent",
          image,
          command,
          env: Object.entries({ ...env, ...("POD_NAME" in env ? { POD_NAME: name } : {}) }).map(([key, value]) => {
            const field = { [AGENT_ENV.podName]: "metadata.name", [AGENT_ENV.podUid]: "metadata.uid" }[key];
            return field === undefined
              ? { name: key, value }
              : { name: key, valueFrom: { fieldRef: { fieldPath: field } } };
          }),
          volumeMounts: [token],
        },
      ],
      volumes: [
        { name: "gate", emptyDir: {} },
        {
          name: "token",
          projected: {
            sources: [
              { serviceAccountToken: { path: "token" } },
              { configMap: { name: "kube-root-ca.crt" } },
              { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
            ],
          },
        },
      ],
    },
  };
  await cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(pod) });
  const gatePid = await pidOf(name, "initContainerStatuses");
  const poller = spawn("nsenter", [`--net=/proc/${gatePid}/ns/net`, process.execPath, "-e", POLLER], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  await once(poller.stderr, "data");
  const opened = once(poller.stdout, "data");
  await cluster.kubectl(["exec", name, "-c", "gate", "--", "touch", "/gate/open"]);
  const [text] = await opened;
  const pid = await pidOf(name, "containerStatuses");
  await sleep(SETTLE_MS);
  const start = { listening: Number(String(text)) - startOf(pid), ...memoryOf(pid) };
  await cluster.kubectl(["delete", "pod", name]);
  return start;
}

async function pidOf(pod: string, field: "initContainerStatuses" | "containerStatuses"): Promise<number> {
  return await waitFor(`a container of ${pod} runs`, 60_000, async () => {
    const id = await cluster.kubectl(["get", "pod", pod, "-o", `jsonpath={.status.${field}[0].containerID}`]);
    const bare = id.replace("containerd://", "");
    return bare === "" ? undefined : allPids().find((pid) => cgroupOf(pid).includes(bare));
  });
}

function cgroupOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, "utf8");
  } catch {
    return ""; // Ended meanwhile.
  }
}

/** Milliseconds since the machine's start; the kernel keeps them to 10 ms. */
function startOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[19]) / TICKS_PER_SECOND) * 1_000;
}

function memoryOf(pid: number): Pick<Start, "rss" | "own"> {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mebibytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
  return { rss: mebibytes("VmRSS"), own: mebibytes("RssAnon") };
}

function report(ours: readonly Start[], theirs: readonly Start[]): void {
  const rows: readonly (readonly [keyof Start, string])[] = [
    ["listening", "process start to port open, ms"],
    ["rss", "resident memory, MiB"],
    ["own", "of which private, MiB"],
  ];
  process.stdout.write(`median of ${ours.length} starts each (lowest, highest)\n`);
  for (const [key, label] of rows) {
    const text = (starts: readonly Start[]) => {
      const sorted = starts.map((start) => start[key]).sort((a, b) => a - b);
      const at = (share: number) => (sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN).toFixed(1);
      return `${at(0.5)} (${at(0)}, ${at(1)})`;
    };
    process.stdout.write(`${label.padEnd(34)} reprise ${text(ours).padEnd(24)} upstream ${text(theirs)}\n`);
  }
}
