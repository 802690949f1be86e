// Measures the cost of one admission request: a real webhook in its own process, TLS on loopback, and keep-alive
// connections as the API server uses them. Prints the latency in the server (headers read to answer written) and
// requests per second of CPU time, which is what one core serves: node bench/webhook.ts
import { fork } from "node:child_process";
import diagnostics from "node:diagnostics_channel";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { defaultConfig } from "../src/config/config.ts";
import type { JsonObject } from "../src/json/types.ts";
import { createRegistry } from "../src/telemetry/metrics.ts";
import { createCores } from "../src/webhook/cores.ts";
import { runWebhook } from "../src/webhook/run.ts";
import { createAuthority } from "../test/cluster/pki.ts";
import { createReview, jobSet, SIZES, type Size } from "./jobsets.ts";
import { checkGates } from "./ranges.ts";

const NAMESPACE = "team";

/** Long enough for V8 to compile hot code; the first requests are an order of magnitude slower. */
const WARM_UP_MS = 2_000;
const MEASURE_MS = 5_000;

interface Usage {
  readonly latenciesMs: readonly number[];
  readonly cpuSeconds: number;
  readonly rssMiB: number;
}

if (process.argv[2] === "serve") await serve(process.argv[3] ?? "");
else await measure();

/** The child process: a webhook that reports its latencies and CPU time on request. */
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
    // As in production, a line per injected JobSet is written, here to no output.
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
  const figures: Record<string, number> = {};
  for (const size of Object.keys(SIZES) as Size[]) {
    for (const path of ["/mutate", "/validate"]) {
      for (const connections of [1, 16]) {
        // /validate sees the result of /mutate.
        const plain = jobSet(size, NAMESPACE);
        const body = createReview(path === "/mutate" ? plain : injected(plain), NAMESPACE);
        const send = sender(Number(port), path, body, connections, authority.cert);
        await send(WARM_UP_MS);
        await usage();
        const seconds = await send(MEASURE_MS);
        const { latenciesMs, cpuSeconds, rssMiB } = await usage();
        const sorted = Float64Array.from(latenciesMs).sort();
        const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
        if (connections === 1) figures[`server-side p99, ${size} ${path.slice(1)}, ms`] = p99;
        rows.push({
          size,
          bytes: body.length,
          path,
          connections,
          "p50 ms": round(sorted[Math.floor(sorted.length * 0.5)] ?? Number.NaN),
          "p99 ms": round(p99),
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
  process.exitCode = checkGates("webhook", figures) ? 0 : 1;
}

/** Sends back to back on each connection for the given time. Returns the seconds it really took. */
function sender(port: number, path: string, body: Buffer, connections: number, ca: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, ca });
  const headers = { "content-type": "application/json", "content-length": body.length };
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port, path, method: "POST", agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          // A refusal would be cheaper than what is measured.
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
  const outcome = createCores(defaultConfig).inject({ operation: "CREATE", namespace: NAMESPACE, object });
  if (outcome.kind !== "injected") throw new Error(`the bench's JobSet is ${outcome.kind}`);
  return outcome.object;
}

function round(ms: number): number {
  return Number(ms.toFixed(2));
}
