// Measures the memory of the Pod cache: 5,000 Pods of a real API server, read by the real reflector, once projected
// as in the controller and once as whole objects. Each runs in its own process; the result is the growth of the heap
// after garbage collection. Prints the ratio; the goal is at most a tenth.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { JOBSET, LABEL } from "../src/api/names.ts";
import { readPod } from "../src/api/pod.ts";
import type { JsonObject } from "../src/json/types.ts";
import { connect, type KubeClient, MERGE_PATCH } from "../src/kube/client.ts";
import { Reflector } from "../src/kube/reflector.ts";
import { startControlPlane } from "../test/cluster/control-plane.ts";

const PODS = 5_000;
const GOAL = 1 / 10;
/** Enough to keep the API server busy without queueing in it. */
const LANES = 32;

interface Measurement {
  readonly pods: number;
  readonly heapBytes: number;
}

const [mode, kubeconfig] = process.argv.slice(2);
if (mode === "projected") await hold(kubeconfig ?? "", readPod);
else if (mode === "full") await hold(kubeconfig ?? "", (raw) => raw);
else await compare();

/** The child process: fills a cache and reports its size. */
async function hold<T>(file: string, project: (raw: JsonObject) => T): Promise<void> {
  const client = connect({ kubeconfig: file });
  const reflector = new Reflector<T>({
    client,
    path: "/api/v1/pods",
    labelSelector: `${LABEL.injected}=true`,
    project,
    onChange: () => {},
    onError: (error) => {
      throw error;
    },
  });
  // Opens the connection and compiles the code before the measurement.
  await client.request("GET", "/api/v1/pods", { query: { limit: 1 } });
  const before = await settledHeap();
  reflector.start();
  await reflector.whenSynced();
  await reflector.stop();
  const measurement: Measurement = { pods: reflector.size, heapBytes: (await settledHeap()) - before };
  process.stdout.write(JSON.stringify(measurement));
  await client.close();
}

/** Collects several times, with turns of the event loop between for finalizers and closed sockets. */
async function settledHeap(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error("run with --expose-gc");
  for (let i = 0; i < 4; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}

async function compare(): Promise<void> {
  const plane = await startControlPlane();
  const client = connect({ kubeconfig: plane.kubeconfig });
  try {
    await createPods(client);
    const sample = JSON.stringify(await client.request("GET", "/api/v1/namespaces/default/pods/train-workers-0-0"));
    const projected = await measure("projected", plane.kubeconfig);
    const full = await measure("full", plane.kubeconfig);
    if (projected.pods !== PODS || full.pods !== PODS) throw new Error("not every Pod was cached");
    const ratio = projected.heapBytes / full.heapBytes;
    console.log(`${PODS} Pods of ${(sample.length / 1024).toFixed(1)} KiB JSON each`);
    console.log(`full objects  ${mebibytes(full)}`);
    console.log(`projected     ${mebibytes(projected)}`);
    console.log(`ratio         ${ratio.toFixed(3)} (1 : ${(1 / ratio).toFixed(1)}; goal: at most ${GOAL})`);
    if (ratio > GOAL) process.exitCode = 1;
  } finally {
    await client.close();
    await plane.stop();
  }
}

async function measure(what: "projected" | "full", file: string): Promise<Measurement> {
  const script = fileURLToPath(import.meta.url);
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", script, what, file]);
  return JSON.parse(stdout);
}

function mebibytes({ heapBytes, pods }: Measurement): string {
  return `${(heapBytes / 2 ** 20).toFixed(1).padStart(6)} MiB, ${(heapBytes / pods / 1024).toFixed(2)} KiB per Pod`;
}

async function createPods(client: KubeClient): Promise<void> {
  // Admission needs the service account that a controller manager would create.
  const account = { metadata: { name: "default" } };
  await client.request("POST", "/api/v1/namespaces/default/serviceaccounts", { body: account });
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < PODS; index = next++) {
      const body = pod(index);
      const path = "/api/v1/namespaces/default/pods";
      await client.request("POST", path, { body, query: { fieldManager: "kube-controller-manager" } });
      await client.request("PATCH", `${path}/${body.metadata.name}/status`, {
        body: { status: runningStatus(index) },
        contentType: MERGE_PATCH,
        query: { fieldManager: "kubelet" },
      });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

/** An injected worker Pod of a training JobSet, as its controllers create it. */
function pod(index: number) {
  const job = `train-workers-${Math.floor(index / 100)}`;
  const labels = {
    [LABEL.injected]: "true",
    [JOBSET.nameKey]: "train",
    [JOBSET.uidKey]: "6f2c4a7e-1d7b-4a53-9a55-3c3f6f0b2d11",
    [JOBSET.replicatedJobKey]: "workers",
    [JOBSET.jobIndexKey]: String(Math.floor(index / 100)),
    [JOBSET.restartAttemptKey]: "0",
    "batch.kubernetes.io/job-completion-index": String(index % 100),
    "batch.kubernetes.io/job-name": job,
    "batch.kubernetes.io/controller-uid": "b1f0c1de-0000-4000-8000-000000000000",
    "kueue.x-k8s.io/queue-name": "research",
    "app.kubernetes.io/part-of": "language-model",
  };
  const environment = [
    "MASTER_ADDR",
    "NCCL_DEBUG",
    "NCCL_SOCKET_IFNAME",
    "OMP_NUM_THREADS",
    "CHECKPOINT_DIR",
    "RUN_ID",
  ];
  const restart = (operator: string) => [{ action: "RestartAllContainers", exitCodes: { operator, values: [0] } }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${job}-${index % 100}`,
      labels,
      annotations: {
        "batch.kubernetes.io/job-completion-index": String(index % 100),
        "jobset.sigs.k8s.io/global-replicas": "50",
        "jobset.sigs.k8s.io/job-key": "0c5d6a7b8e9f00112233445566778899aabbccdd",
        [JOBSET.epochAnnotation]: "4",
      },
      ownerReferences: [
        {
          apiVersion: "batch/v1",
          kind: "Job",
          name: job,
          uid: `b1f0c1de-0000-4000-8000-${String(Math.floor(index / 100)).padStart(12, "0")}`,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      finalizers: ["batch.kubernetes.io/job-tracking"],
    },
    spec: {
      restartPolicy: "Never",
      nodeName: `gpu-node-${index % 625}`,
      subdomain: "train",
      hostname: `${job}-${index % 100}`,
      priority: 0,
      initContainers: [
        {
          name: "reprise-agent",
          image: "reprise.dev/reprise:0.1.0",
          args: ["agent"],
          restartPolicy: "Always",
          env: [{ name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
          resources: { requests: { cpu: "10m", memory: "48Mi" }, limits: { memory: "48Mi" } },
          startupProbe: {
            httpGet: { path: "/barrier", port: 8471 },
            periodSeconds: 1,
            failureThreshold: 2_147_483_647,
          },
          securityContext: {
            allowPrivilegeEscalation: false,
            capabilities: { drop: ["ALL"] },
            readOnlyRootFilesystem: true,
          },
        },
      ],
      containers: [
        {
          name: "trainer",
          image: "images.example.com/research/trainer:2026-01-15",
          command: ["torchrun", "--nnodes=50", "--nproc-per-node=8", "train.py", "--config", "/etc/run/config.yaml"],
          restartPolicy: "Never",
          restartPolicyRules: restart("NotIn"),
          env: [
            ...environment.map((name) => ({ name, value: `${name.toLowerCase()}-of-this-run` })),
            {
              name: "JOB_COMPLETION_INDEX",
              valueFrom: {
                fieldRef: { fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']" },
              },
            },
          ],
          resources: {
            requests: { cpu: "32", memory: "256Gi", "nvidia.com/gpu": "8" },
            limits: { memory: "256Gi", "nvidia.com/gpu": "8" },
          },
          volumeMounts: [
            { name: "checkpoints", mountPath: "/checkpoints" },
            { name: "config", mountPath: "/etc/run", readOnly: true },
            { name: "shm", mountPath: "/dev/shm" },
          ],
        },
      ],
      volumes: [
        { name: "checkpoints", persistentVolumeClaim: { claimName: "checkpoints" } },
        { name: "config", configMap: { name: "run-config" } },
        { name: "shm", emptyDir: { medium: "Memory", sizeLimit: "64Gi" } },
      ],
      tolerations: [
        { key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" },
        { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 },
      ],
    },
  };
}

function runningStatus(index: number) {
  const time = "2026-01-15T08:00:00Z";
  const types = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
  const container = (name: string, image: string) => ({
    name,
    image,
    imageID: `images.example.com/research/${name}@sha256:${hex(index, 64)}`,
    containerID: `containerd://${hex(index + name.length, 64)}`,
    ready: true,
    started: true,
    restartCount: 3,
    state: { running: { startedAt: time } },
    lastState: {
      terminated: {
        exitCode: 1,
        reason: "Error",
        startedAt: time,
        finishedAt: time,
        containerID: `containerd://${hex(index, 64)}`,
      },
    },
  });
  return {
    phase: "Running",
    startTime: time,
    hostIP: "10.0.0.7",
    hostIPs: [{ ip: "10.0.0.7" }],
    podIP: `10.1.${Math.floor(index / 250)}.${index % 250}`,
    podIPs: [{ ip: `10.1.${Math.floor(index / 250)}.${index % 250}` }],
    qosClass: "Burstable",
    conditions: types.map((type) => ({ type, status: "True", lastTransitionTime: time })),
    initContainerStatuses: [container("reprise-agent", "reprise.dev/reprise:0.1.0")],
    containerStatuses: [container("trainer", "images.example.com/research/trainer:2026-01-15")],
  };
}

function hex(seed: number, length: number): string {
  return (seed + 1)
    .toString(16)
    .padStart(8, "7")
    .repeat(Math.ceil(length / 8))
    .slice(0, length);
}
