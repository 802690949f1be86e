// Compares our agent with upstream's in Pods of a real kubelet: from process start to the first connection, and the
// memory it holds then. Both follow a JobSet without a barrier, because upstream's accepts no connection before the
// barrier lifts. They take turns, so that a busy machine affects both alike. `node bench/agent-in-cluster.ts
// [REPETITIONS]`, as root.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { AGENT, AGENT_ENV, BARRIER_PORT_ENV, JOBSET } from "../src/api/names.ts";
import { agentEnv } from "../test/builders/agent-env.ts";
import { ensureBinaries } from "../test/cluster/binaries.ts";
import { Cluster, down, freeSlot } from "../test/cluster/cluster.ts";
import { processesOf } from "../test/cluster/container.ts";
import { programArchive } from "../test/cluster/parts/images.ts";
import { waitFor } from "../test/cluster/proc.ts";
import { terminalProgress } from "../test/cluster/progress.ts";
import { imageName, repriseArchive } from "../test/image/reprise-image.ts";
import { type Memory, memoryOf } from "./process-memory.ts";
import { median } from "./quantile.ts";
import { checkGates } from "./ranges.ts";

const REPETITIONS = Number(process.argv[2] ?? 10);
const PORT = 15_467;
const GROUP = "released";
const UPSTREAM_IMAGE = "docker.io/local/in-place-restart-agent:1";

/** The unit of a process's start time in /proc. */
const TICKS_PER_SECOND = 100;

/** Wait before memory is read, until garbage of the start is collected and the watch is quiet. */
const SETTLE_MS = 3_000;

/**
 * Tries to connect to an agent every millisecond, prints when it succeeds (milliseconds since boot), and stays
 * connected, as the kubelet does.
 */
const POLLER = `const { connect } = require("node:net");
const address = JSON.parse(process.argv[1]);
const ask = () => { const s = connect(address).resume();
s.once("connect", () => console.log(Number(process.hrtime.bigint()) / 1e6));
s.once("error", () => setTimeout(ask, 1)); }; ask(); console.error("asking");`;

interface Start extends Memory {
  readonly listening: number;
}

const slot = freeSlot(16);
const progress = terminalProgress();
const binaries = await ensureBinaries(["jobset"], progress);
const cluster = await Cluster.up({ slot, nodes: 1, parts: ["jobset"], upstreamInPlace: true, progress });
try {
  cluster.load(await repriseArchive(imageName("bench"), progress));
  cluster.load(programArchive(binaries, "jobset", "in-place-restart-agent", UPSTREAM_IMAGE));
  const jobSetUid = await prepare();
  const starts = { reprise: [] as Start[], upstream: [] as Start[] };
  const containers = {
    reprise: {
      image: imageName("bench"),
      command: [AGENT.binary],
      env: {
        ...agentEnv({ podName: "any", podUid: "any", jobSetName: GROUP, jobSetUid, protocol: "jobset" }),
        [BARRIER_PORT_ENV]: String(PORT),
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
  // The first container creates the Pod's network and waits, so that polling begins before the agent starts. While it
  // waits it is a single process, whose network namespace the poller joins.
  const gate = "mkfifo /gate/open; read -r _ < /gate/open; sleep 0.5";
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
  const target = JSON.stringify({ port: PORT, host: "127.0.0.1" });
  const poller = spawn("nsenter", [`--net=/proc/${gatePid}/ns/net`, process.execPath, "-e", POLLER, target], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [words] = await once(poller.stderr, "data");
  if (!String(words).startsWith("asking")) throw new Error(`the poller of Pod ${name} did not start: ${words}`);
  const opened = once(poller.stdout, "data");
  await cluster.kubectl(["exec", name, "-c", "gate", "--", "sh", "-c", "echo > /gate/open"]);
  const [text] = await opened;
  const pid = await pidOf(name, "containerStatuses");
  await sleep(SETTLE_MS);
  const start = { listening: Number(String(text)) - startOf(pid), ...memoryOf(pid) };
  poller.kill();
  await cluster.kubectl(["delete", "pod", name]);
  return start;
}

async function pidOf(pod: string, field: "initContainerStatuses" | "containerStatuses"): Promise<number> {
  return await waitFor(`a container of ${pod} runs`, 60_000, async () => {
    const id = await cluster.kubectl(["get", "pod", pod, "-o", `jsonpath={.status.${field}[0].containerID}`]);
    return processesOf(id.replace("containerd://", "")).flat()[0];
  });
}

/** Milliseconds since boot; the kernel's resolution is 10 ms. */
function startOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[19]) / TICKS_PER_SECOND) * 1_000;
}

function report(ours: readonly Start[], theirs: readonly Start[]): void {
  const rows: readonly (readonly [keyof Start, string])[] = [
    ["listening", "process start to accepting, ms"],
    ["rss", "resident memory, MiB"],
    ["own", "of which private, MiB"],
  ];
  const figures: Record<string, number> = {};
  console.log(`\nmedian of ${ours.length} starts each (lowest, highest)`);
  for (const [key, label] of rows) {
    const mine = ours.map((start) => start[key]);
    const other = theirs.map((start) => start[key]);
    const text = (values: readonly number[]) =>
      `${median(values).toFixed(1)} (${Math.min(...values).toFixed(1)}, ${Math.max(...values).toFixed(1)})`;
    const ratio = median(mine) / median(other);
    figures[`ratio to upstream, ${label.replace(/,.*/, "")}`] = ratio;
    const cells = [
      `reprise ${text(mine).padEnd(22)}`,
      `upstream ${text(other).padEnd(22)}`,
      `ratio ${ratio.toFixed(2)}`,
    ];
    console.log(`${label.padEnd(34)} ${cells.join(" ")}`);
  }
  console.log();
  if (!checkGates("agent", figures)) process.exitCode = 1;
}
