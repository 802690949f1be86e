// Measures what the controller costs when something happens to all Pods of a large group: CPU time, decisions, the
// longest stall of the event loop, and how long a small group waits meanwhile. Pure: no cluster, no API server. Watch
// events arrive projected, as fast as an API server with one large group sends them.
//
//   npx node bench/controller.ts [--pods 1000,5000,10000] [--rate 5000] [--storm wave] [--shape "in one Job"]
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { makingTime, Player, silence } from "./controller/play.ts";
import { Subject } from "./controller/subject.ts";
import { type Act, type Shape, Workload } from "./controller/workload.ts";
import { checkGates } from "./ranges.ts";

const { values } = parseArgs({
  options: {
    pods: { type: "string", default: "1000,5000,10000" },
    /** Events a second. Etcd and one API server take a few thousand writes a second. */
    rate: { type: "string", default: "5000" },
    storm: { type: "string" },
    shape: { type: "string" },
  },
});
const SIZES = values.pods.split(",").map(Number);
const RATE = Number(values.rate);
/** The small group fails again after this time, so that many of its failures fall into a storm. */
const PROBE_MS = 150;
const BEAT_MS = 5;
const GATED_PODS = 10_000;
const QUIET_SECONDS = 4;
const player = new Player(RATE);

const STORMS = {
  wave: (group: Workload) => group.wave(),
  "mass failure": (group: Workload) => group.massFailure(),
  "mass deletion": (group: Workload) => group.massDeletion(),
  recreation: (group: Workload) => group.recreation(),
} as const;

interface Measurement {
  readonly storm: string;
  readonly shape: string;
  readonly pods: number;
  readonly events: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly decisions: number;
  /** CPU time of this thread between two turns of the event loop: what other programs do does not count. */
  readonly stallCpuMs: number;
  readonly stallMs: number;
  readonly delayMs: number;
}

async function main(): Promise<void> {
  const measurements: Measurement[] = [];
  for (const pods of SIZES) measurements.push(...(await measure("in 100 Jobs", { jobs: 100, podsPerJob: pods / 100 })));
  const most = Math.max(...SIZES);
  measurements.push(...(await measure("in one Job", { jobs: 1, podsPerJob: most })));
  measurements.push(...(await measure("in a Job each", { jobs: most, podsPerJob: 1 })));
  measurements.push(...(await measure("with policies", { jobs: 100, podsPerJob: most / 100, hasPolicies: true })));
  print(measurements);
  // The gates are for the whole run.
  if (values.storm !== undefined || values.shape !== undefined || most !== GATED_PODS) return;
  const largest = measurements.filter(({ pods }) => pods === most);
  const figures: Record<string, number> = {};
  for (const storm of Object.keys(STORMS)) {
    const each = largest.filter((row) => row.storm === storm).map(({ cpuSeconds }) => cpuSeconds);
    figures[`CPU seconds, 10,000 Pods, ${storm}`] = Math.max(...each);
  }
  figures["longest stall, ms of CPU"] = Math.max(...measurements.map(({ stallCpuMs }) => stallCpuMs));
  figures["decision of another group, ms"] = Math.max(...measurements.map(({ delayMs }) => delayMs));
  figures["decisions per 10 ms"] = Math.max(...measurements.map((row) => row.decisions / (row.seconds * 100)));
  process.exitCode = checkGates("controller", figures) ? 0 : 1;
}

/** All storms, one after the other, on one group of this shape. */
async function measure(name: string, shape: Shape): Promise<Measurement[]> {
  if (values.shape !== undefined && values.shape !== name) return [];
  const subject = new Subject();
  const group = new Workload("large", shape);
  const probe = new Probe(subject);
  await player.play(subject, group, group.start());
  await probe.start();
  // What the benchmark itself costs: its timers, and the small group that fails all the time.
  const quiet = await watch(subject, group, probe, [{ events: silence(RATE * QUIET_SECONDS), until: () => true }]);
  const ownShare = quiet.cpuSeconds / quiet.seconds;
  const rows: Measurement[] = [];
  for (const [storm, acts] of Object.entries(STORMS)) {
    if (values.storm !== undefined && values.storm !== storm) continue;
    const row = await watch(subject, group, probe, acts(group));
    const cpuSeconds = row.cpuSeconds - ownShare * row.seconds;
    rows.push({ storm, shape: name, pods: shape.jobs * shape.podsPerJob, ...row, cpuSeconds });
    console.error(JSON.stringify({ ...rows.at(-1), ownShare }));
  }
  await subject.stop();
  return rows;
}

async function watch(subject: Subject, group: Workload, probe: Probe, acts: readonly Act[]) {
  globalThis.gc?.();
  await sleep(50);
  const decided = subject.decisions(group.key);
  const heart = new Heart();
  const probing = probe.run();
  const [began, cpu, made] = [performance.now(), process.cpuUsage(), makingTime()];
  await player.play(subject, group, acts);
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - began) / 1_000;
  const delayMs = await probing.end();
  return {
    events: acts.reduce((sum, { events }) => sum + events.count, 0),
    seconds,
    cpuSeconds: (user + system - (makingTime() - made)) / 1e6,
    decisions: subject.decisions(group.key) - decided,
    ...heart.stop(),
    delayMs,
  };
}

/** A group of two Pods that fails again and again. Measures how long its failure waits for the write that ends it. */
class Probe {
  readonly #subject: Subject;
  readonly #group = new Workload("small", { jobs: 1, podsPerJob: 2 });

  constructor(subject: Subject) {
    this.#subject = subject;
  }

  start(): Promise<void> {
    return player.play(this.#subject, this.#group, this.#group.start());
  }

  run(): { readonly end: () => Promise<number> } {
    let isOver = false;
    let longest = 0;
    const running = (async () => {
      while (!isOver) {
        await sleep(PROBE_MS);
        const [failure, ...rest] = this.#group.wave();
        if (failure === undefined) return;
        const failedAt = performance.now();
        await player.play(this.#subject, this.#group, [failure]);
        longest = Math.max(longest, (this.#subject.writtenAt.get(this.#group.key) ?? failedAt) - failedAt);
        await player.play(this.#subject, this.#group, rest);
      }
    })();
    return {
      end: async () => {
        isOver = true;
        await running;
        return longest;
      },
    };
  }
}

/** Notices when the event loop does not turn. */
class Heart {
  #stallMs = 0;
  #stallCpuMs = 0;
  #at = performance.now();
  #cpu = process.threadCpuUsage();
  readonly #timer = setInterval(() => this.#beat(), BEAT_MS);

  stop(): { readonly stallMs: number; readonly stallCpuMs: number } {
    clearInterval(this.#timer);
    this.#beat();
    return { stallMs: this.#stallMs, stallCpuMs: this.#stallCpuMs };
  }

  #beat(): void {
    const [at, { user, system }] = [performance.now(), process.threadCpuUsage(this.#cpu)];
    this.#stallMs = Math.max(this.#stallMs, at - this.#at - BEAT_MS);
    this.#stallCpuMs = Math.max(this.#stallCpuMs, (user + system) / 1_000);
    this.#at = at;
    this.#cpu = process.threadCpuUsage();
  }
}

function print(rows: readonly Measurement[]): void {
  console.log("| storm | Pods | events | CPU | decisions | longest stall, CPU (wall) | another group waits |");
  console.log("|---|---|---|---|---|---|---|");
  for (const row of rows) {
    const pods = `${row.pods.toLocaleString("en-US")} ${row.shape}`;
    const stall = `${row.stallCpuMs.toFixed(0)} ms (${row.stallMs.toFixed(0)} ms)`;
    const cells = [row.storm, pods, row.events.toLocaleString("en-US"), `${row.cpuSeconds.toFixed(2)} s`];
    console.log(`| ${[...cells, row.decisions, stall, `${row.delayMs.toFixed(0)} ms`].join(" | ")} |`);
  }
}

await main();
