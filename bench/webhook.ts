// What one admission request costs: a real webhook in a process of its own, real TLS on loopback, keep-alive connections
// as the API server holds them. Prints latency inside the server (headers read to answer written) and requests per second
// of CPU time, which is what one core serves.
import { fork } from "node:child_process";
import diagnostics from "node:diagnostics_channel";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { JsonObject } from "../src/api/admission.ts";
import { defaultConfig } from "../src/api/config.ts";
import { createRegistry } from "../src/telemetry/metrics.ts";
import { createCores } from "../src/webhook/cores.ts";
import { runWebhook } from "../src/webhook/run.ts";
import { createAuthority } from "../test/cluster/pki.ts";

/** Long enough for V8 to have compiled what is hot; the first requests are an order of magnitude slower. */
const WARM_UP_MS = 2_000;
const MEASURE_MS = 5_000;

interface Usage {
  readonly latenciesMs: readonly number[];
  readonly cpuSeconds: number;
  readonly rssMiB: number;
}

if (process.argv[2] === "serve") await serve(process.argv[3] ?? "");
else await measure();

/** The child: a webhook, and on request what it took since the last one. */
async function serve(certDir: string): Promise<void> {
  const begun = new WeakMap<object, number>();
  let latenciesMs: number[] = [];
  let cpu = process.cpuUsage();
  diagnostics.subscribe("http.server.request.start", (message) => {
    begun.set((message as { response: object }).response, performance.now());
  });
  diagnostics.subscribe("http.server.response.finish", (message) => {
    const start = begun.get((message as { response: object }).response);
    if (start !== undefined) latenciesMs.push(performance.now() - start);
  });
  const webhook = await runWebhook({
    cores: createCores(defaultConfig),
    certDir,
    host: "127.0.0.1",
    port: 0,
    healthPort: 0,
    // As in production: a line per injected JobSet is written, here to nowhere.
    log: pino({ level: "info" }, { write: () => {} }),
    registry: createRegistry(),
    drain: { minMs: 0, maxMs: 0 },
  });
  process.on("message", () => {
    const used = process.cpuUsage(cpu);
    const usage: Usage = {
      latenciesMs,
      cpuSeconds: (used.user + used.system) / 1e6,
      rssMiB: process.memoryUsage.rss() / 2 ** 20,
    };
    latenciesMs = [];
    cpu = process.cpuUsage();
    process.send?.(usage);
  });
  process.on("disconnect", () => void webhook.shutdown());
  process.send?.(webhook.port);
}

async function measure(): Promise<void> {
  const authority = createAuthority("bench authority");
  const pair = authority.issue({ commonName: "webhook", ipAddresses: ["127.0.0.1"] });
  const certDir = await mkdtemp(join(tmpdir(), "reprise-bench-"));
  await writeFile(join(certDir, "tls.crt"), pair.cert);
  await writeFile(join(certDir, "tls.key"), pair.key);
  const child = fork(import.meta.filename, ["serve", certDir]);
  const [port] = await once(child, "message");
  const usage = async (): Promise<Usage> => {
    const answered = once(child, "message");
    child.send("usage");
    const [taken] = await answered;
    return taken;
  };

  const rows: Record<string, string | number>[] = [];
  for (const [shape, replicatedJobs] of [
    ["6 KB", 1],
    ["230 KB", 48],
  ] as const) {
    for (const path of ["/mutate", "/validate"]) {
      for (const connections of [1, 16]) {
        // What /validate sees is what /mutate has made of it.
        const object = path === "/mutate" ? jobSet(replicatedJobs) : injected(jobSet(replicatedJobs));
        const body = Buffer.from(JSON.stringify(review(object)));
        const send = sender(Number(port), path, body, connections, authority.cert);
        await send(WARM_UP_MS);
        await usage();
        const seconds = await send(MEASURE_MS);
        const { latenciesMs, cpuSeconds, rssMiB } = await usage();
        const sorted = Float64Array.from(latenciesMs).sort();
        rows.push({
          JobSet: shape,
          bytes: body.length,
          path,
          connections,
          "p50 ms": round(sorted[Math.floor(sorted.length * 0.5)] ?? Number.NaN),
          "p99 ms": round(sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN),
          "requests/s": Math.round(sorted.length / seconds),
          "requests/s per core": Math.round(sorted.length / cpuSeconds),
          "RSS MiB": Math.round(rssMiB),
        });
      }
    }
  }
  console.table(rows);
  child.disconnect();
  await rm(certDir, { recursive: true });
}

/** Sends back to back on each connection, for as long as asked; answers how many seconds it really took. */
function sender(port: number, path: string, body: Buffer, connections: number, ca: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, ca });
  const headers = { "content-type": "application/json", "content-length": body.length };
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port, path, method: "POST", agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          // A refusal is cheaper than what is to be measured.
          if (Buffer.concat(chunks).includes('"allowed":true')) resolve();
          else reject(new Error(`unexpected answer: ${Buffer.concat(chunks)}`));
        });
      });
      sent.on("error", reject).end(body);
    });
  return async (forMs: number): Promise<number> => {
    const began = performance.now();
    const loop = async () => {
      while (performance.now() - began < forMs) await one();
    };
    await Promise.all(Array.from({ length: connections }, loop));
    return (performance.now() - began) / 1_000;
  };
}

function injected(object: JsonObject): JsonObject {
  const outcome = createCores(defaultConfig).inject({ operation: "CREATE", namespace: "team", object });
  if (outcome.kind !== "injected") throw new Error(`the bench's JobSet is ${outcome.kind}`);
  return outcome.object;
}

/** As training frameworks write them: about 4.9 KB for each replicatedJob. */
function jobSet(replicatedJobs: number): JsonObject {
  return {
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: { name: "train", namespace: "team", labels: { team: "vision" } },
    spec: {
      failurePolicy: { maxRestarts: 10 },
      replicatedJobs: Array.from({ length: replicatedJobs }, (_, index) => replicatedJob(`workers-${index}`)),
    },
  };
}

function review(object: JsonObject): object {
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "0df28fbd-5f5f-11e8-bc74-36e6bb280816",
      kind: { group: "jobset.x-k8s.io", version: "v1alpha2", kind: "JobSet" },
      resource: { group: "jobset.x-k8s.io", version: "v1alpha2", resource: "jobsets" },
      name: "train",
      namespace: "team",
      operation: "CREATE",
      userInfo: { username: "argocd", groups: ["system:serviceaccounts", "system:authenticated"] },
      object,
      oldObject: null,
      dryRun: false,
      options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
    },
  };
}

function replicatedJob(name: string): JsonObject {
  const env = Array.from({ length: 40 }, (_, index) => ({
    name: `NCCL_SETTING_NUMBER_${index}`,
    value: `value-of-the-setting-${index}`,
  }));
  const container = {
    name: "trainer",
    image: "registry.example/vision/trainer:2026.11.1",
    command: ["python", "-m", "torch.distributed.run", "--nnodes=64", "--nproc-per-node=8", "train.py"],
    env,
    ports: [{ containerPort: 29_500 }],
    resources: {
      requests: { cpu: "32", memory: "256Gi", "nvidia.com/gpu": "8" },
      limits: { cpu: "32", memory: "256Gi", "nvidia.com/gpu": "8" },
    },
    volumeMounts: [
      { name: "shm", mountPath: "/dev/shm" },
      { name: "checkpoints", mountPath: "/checkpoints" },
    ],
  };
  const exporter = { name: "exporter", image: "registry.example/tools/exporter:1", env: env.slice(0, 20) };
  const volumes = [
    { name: "shm", emptyDir: { medium: "Memory" } },
    { name: "checkpoints", persistentVolumeClaim: { claimName: "checkpoints" } },
  ];
  const spec = { restartPolicy: "Never", containers: [container, exporter], volumes };
  const template = { metadata: { labels: { app: "train" } }, spec };
  return { name, replicas: 1, template: { spec: { parallelism: 64, completions: 64, backoffLimit: 0, template } } };
}

function round(ms: number): number {
  return Number(ms.toFixed(2));
}
