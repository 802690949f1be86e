// Compares our two webhooks with JobSet's own, in one run against one real API server: node bench/admission.ts It
// looks at the same requests in three ways: what the API server measured for each webhook, both servers asked
// directly and in turn, and the CPU time each spent on that. Compare ratios of one run: the speed of the machine
// cancels out.
import { Agent, request } from "node:https";
import { loadavg } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "../src/json/types.ts";
import { connect, type KubeClient } from "../src/kube/client.ts";
import { waitFor } from "../test/cluster/proc.ts";
import { type AdmissionChain, startAdmissionChain } from "../test/integration/admission-chain.ts";
import { createNamespace } from "../test/reprise-programs.ts";
import { createReview, jobSet, SIZES, type Size } from "./jobsets.ts";
import { cpuMs, pidOf } from "./process-cpu.ts";
import { median, quantile } from "./quantile.ts";
import { checkGates } from "./ranges.ts";
import { difference, parsePage, type Samples, total } from "./scrape.ts";

const NAMESPACE = "bench";
const COLLECTION = `/apis/jobset.x-k8s.io/v1alpha2/namespaces/${NAMESPACE}/jobsets`;

/** The names of our webhook and its peer in the API server's metrics. */
const WEBHOOKS = {
  mutate: { ours: "inject.reprise.dev", peer: "mjobset.kb.io" },
  validate: { ours: "validate.reprise.dev", peer: "vjobset.kb.io" },
} as const;
type Phase = keyof typeof WEBHOOKS;
const PHASES = ["mutate", "validate"] as const;

const API_SERVER_DURATION = "apiserver_admission_webhook_admission_duration_seconds";
const OWN_DURATION = "reprise_webhook_request_duration_seconds";

/** Enough for a p99 that is more than one request, and few enough for a run of some minutes. */
const PLAN: Readonly<Record<Size, { readonly creates: number; readonly pairs: number }>> = {
  "6 KB": { creates: 240, pairs: 800 },
  "230 KB": { creates: 24, pairs: 150 },
};
/** The median of the rounds is reported, so that one disturbed round does not count. */
const ROUNDS = 5;
const PARALLEL = 8;
/** Long enough for V8 to compile hot code, and for Go's heap to reach its size. */
const WARM_UP_PAIRS = 600;
/** The first requests to a fresh replica, which users notice after a rollout. */
const FIRST_REQUESTS = 20;

interface WebhookServer {
  readonly pid: number;
  /** Sends one review and returns how long it took, in ms. */
  ask(phase: Phase, review: Buffer): Promise<number>;
}
interface Servers {
  readonly ours: WebhookServer;
  readonly peer: WebhookServer;
}

const figures: Record<string, number> = {};
console.log(`load average at the start: ${load()}`);
const chain = await startAdmissionChain();
try {
  await createNamespace(chain.controlPlane.kubectl, NAMESPACE);
  const client = connect({ kubeconfig: chain.controlPlane.kubeconfig });
  const servers = await findServers(client, chain);
  await coldStart(servers);
  await throughApiServer(client, chain);
  await inTurn(client, servers);
  await client.close();
} finally {
  await chain.controlPlane.stop();
}
console.log(`load average at the end: ${load()}`);
process.exitCode = checkGates("admission", figures) ? 0 : 1;

/**
 * Measures the first requests to a webhook that has just become ready. The client is warmed up on the peer, which is a
 * compiled program and needs no warm-up itself.
 */
async function coldStart({ ours, peer }: Servers): Promise<void> {
  const review = createReview(jobSet("6 KB", NAMESPACE), NAMESPACE);
  // JobSet becomes ready a little before its webhooks answer.
  await waitFor("JobSet's webhook answers", 30_000, () => peer.ask("mutate", review).catch(() => undefined));
  for (let index = 0; index < WARM_UP_PAIRS; index++) await peer.ask("mutate", review);
  const first = await ours.ask("mutate", review);
  const taken = { ours: [] as number[], peer: [] as number[] };
  for (let index = 0; index < FIRST_REQUESTS; index++) {
    taken.ours.push(await ours.ask("mutate", review));
    taken.peer.push(await peer.ask("mutate", review));
  }
  const [next, reference] = [quantile(taken.ours, 0.5), quantile(taken.peer, 0.5)];
  console.log(
    `\nA fresh replica (mutate, 6 KB): first request with its TLS handshake ${round(first)} ms, ` +
      `median of the next ${FIRST_REQUESTS} ${round(next)} ms, JobSet's beside them ${round(reference)} ms`,
  );
  figures["fresh replica, first request, ms"] = first;
  figures["fresh replica, next requests, ratio"] = next / reference;
}

/** Creates JobSets as a dry run, which calls every webhook and stores nothing. */
async function throughApiServer(client: KubeClient, { webhook: { healthUrl } }: AdmissionChain): Promise<void> {
  const create = (object: JsonObject) => client.request("POST", COLLECTION, { query: { dryRun: "All" }, body: object });
  const measured = async (): Promise<Samples> => {
    const stream = await client.stream("/metrics");
    const page = (await stream.toArray()).join("");
    const own = await (await fetch(`${healthUrl}/metrics`)).text();
    return new Map([...parsePage(page, API_SERVER_DURATION), ...parsePage(own, OWN_DURATION)]);
  };
  const rows: Record<string, string | number>[] = [];
  for (const size of Object.keys(SIZES) as Size[]) {
    const object = jobSet(size, NAMESPACE);
    for (let index = 0; index < 20; index++) await create(object);
    for (const parallel of [1, PARALLEL]) {
      const before = await measured();
      const each = async () => {
        for (let index = 0; index < PLAN[size].creates / parallel; index++) await create(object);
      };
      await Promise.all(Array.from({ length: parallel }, each));
      const grown = difference(before, await measured());
      for (const phase of PHASES) {
        const inServer = mean(grown, OWN_DURATION, { webhook: phase });
        for (const [server, name] of Object.entries(WEBHOOKS[phase])) {
          const calls = total(grown, `${API_SERVER_DURATION}_count`, { name });
          if (calls < PLAN[size].creates) throw new Error(`${name} was asked ${calls} times: is it registered?`);
          const within = (seconds: string) =>
            `${Math.round((100 * total(grown, `${API_SERVER_DURATION}_bucket`, { name, le: seconds })) / calls)} %`;
          rows.push({
            size,
            "at once": parallel,
            webhook: name,
            calls,
            "mean ms": round(mean(grown, API_SERVER_DURATION, { name })),
            "own histogram, mean ms": server === "ours" ? round(inServer) : "",
            "<= 5 ms": within("0.005"),
            "<= 25 ms": within("0.025"),
          });
        }
        const [ours, peer] = Object.values(WEBHOOKS[phase]).map((name) => mean(grown, API_SERVER_DURATION, { name }));
        if (parallel === 1) figures[`API server mean ratio, ${size} ${phase}`] = (ours ?? Number.NaN) / (peer ?? 1);
      }
    }
  }
  console.log(`\n${API_SERVER_DURATION}, as the API server measured it`);
  console.table(rows);
}

/** Sends the same bodies to both servers in turn, over one connection each, in alternating order. */
async function inTurn(client: KubeClient, { ours, peer }: Servers): Promise<void> {
  const rows: Record<string, string | number>[] = [];
  for (const size of Object.keys(SIZES) as Size[]) {
    const plain = jobSet(size, NAMESPACE);
    // Validating webhooks see the result of the mutating ones.
    const final = await client.request("POST", COLLECTION, { query: { dryRun: "All" }, body: plain });
    for (const phase of PHASES) {
      const review = createReview(phase === "mutate" ? plain : final, NAMESPACE);
      const askBoth = async (pairs: number) => {
        const taken = { ours: [] as number[], peer: [] as number[] };
        for (let index = 0; index < pairs; index++) {
          const order = index % 2 === 0 ? (["ours", "peer"] as const) : (["peer", "ours"] as const);
          for (const server of order) taken[server].push(await (server === "ours" ? ours : peer).ask(phase, review));
        }
        return taken;
      };
      const { pairs } = PLAN[size];
      await askBoth(Math.min(WARM_UP_PAIRS, pairs));
      const rounds: { ours: Round; peer: Round }[] = [];
      for (let index = 0; index < ROUNDS; index++) {
        const cpuBefore = { ours: cpuMs(ours.pid), peer: cpuMs(peer.pid) };
        const taken = await askBoth(pairs);
        rounds.push({
          ours: roundOf(taken.ours, cpuMs(ours.pid) - cpuBefore.ours),
          peer: roundOf(taken.peer, cpuMs(peer.pid) - cpuBefore.peer),
        });
      }
      for (const figure of ["p50", "p99", "cpu"] as const) {
        const ratio = median(rounds.map((each) => each.ours[figure] / each.peer[figure]));
        const own = median(rounds.map((each) => each.ours[figure]));
        rows.push({
          size,
          bytes: review.length,
          phase,
          figure: figure === "cpu" ? "CPU ms per request" : `${figure} ms`,
          ours: round(own),
          "JobSet's": round(median(rounds.map((each) => each.peer[figure]))),
          ratio: round(ratio),
          "ratio of each round": rounds.map((each) => (each.ours[figure] / each.peer[figure]).toFixed(2)).join(" "),
        });
        figures[`${figure} ratio, ${size} ${phase}`] = ratio;
        figures[`${figure}, ${size} ${phase}, ms`] = own;
      }
    }
  }
  console.log(`\nBoth servers asked in turn, ${ROUNDS} rounds, median of the rounds`);
  console.table(rows);
}

interface Round {
  readonly p50: number;
  readonly p99: number;
  readonly cpu: number;
}

function roundOf(taken: readonly number[], cpu: number): Round {
  return { p50: quantile(taken, 0.5), p99: quantile(taken, 0.99), cpu: cpu / taken.length };
}

/** Reads where the two programs listen from the webhook configurations in the API server. */
async function findServers(client: KubeClient, { controlPlane, webhook }: AdmissionChain): Promise<Servers> {
  const registered = new Map<string, { url: string; ca: string }>();
  for (const kind of ["mutating", "validating"]) {
    const path = `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`;
    const { items } = (await client.request("GET", path)) as unknown as {
      items: { webhooks: { name: string; clientConfig: { url: string; caBundle: string } }[] }[];
    };
    for (const { name, clientConfig } of items.flatMap(({ webhooks }) => webhooks)) {
      const ca = Buffer.from(clientConfig.caBundle, "base64").toString();
      registered.set(name, { url: clientConfig.url, ca });
    }
  }
  const server = (who: "ours" | "peer", pid: number): WebhookServer => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    return {
      pid,
      ask(phase, review) {
        const { url, ca } = registered.get(WEBHOOKS[phase][who]) ?? { url: "", ca: "" };
        return timed(url, ca, agent, review);
      },
    };
  };
  return {
    ours: server("ours", webhook.program.pid),
    peer: server("peer", pidOf(join(controlPlane.folder, "jobset"))),
  };
}

function timed(url: string, ca: string, agent: Agent, body: Buffer): Promise<number> {
  const began = performance.now();
  const headers = { "content-type": "application/json", "content-length": body.length };
  return new Promise((resolve, reject) => {
    const sent = request(`${url}?timeout=10s`, { method: "POST", ca, agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const took = performance.now() - began;
        // A refusal would be cheaper than what is measured.
        if (Buffer.concat(chunks).includes('"allowed":true')) resolve(took);
        else reject(new Error(`${url} answered ${response.statusCode}: ${Buffer.concat(chunks)}`));
      });
    });
    sent.on("error", reject).end(body);
  });
}

function mean(samples: Samples, name: string, labels: Readonly<Record<string, string>>): number {
  return (1_000 * total(samples, `${name}_sum`, labels)) / total(samples, `${name}_count`, labels);
}

function round(value: number): number {
  return Number(value.toFixed(2));
}

function load(): string {
  return loadavg()
    .map((each) => each.toFixed(1))
    .join(" ");
}
