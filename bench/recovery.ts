// Measures recoveries, from a killed worker to all workers running again: reprise, upstream's InPlaceRestart and
// JobSet's Recreate, with the same workload on the same nodes. They take turns, so that a busy machine affects all
// alike. Each kill comes after a random delay, because the kubelet looks at its containers once a second and a fixed
// phase would be unfair. `node bench/recovery.ts [--nodes 1] [--repetitions 20] [--large-repetitions 7]
// [--ignoring-repetitions 7]`: 4 Pods, 20 Pods, and 4 Pods whose workers ignore SIGTERM. With more than one node, the
// Pods are spread over them, and each kubelet looks at another moment. Gates and pictures are for workers that stop on
// SIGTERM. Pictures, of one node only, go to docs/images.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { PodObserver, type Recovery, UPSTREAM_AGENT } from "../scripts/recovery/observe.ts";
import { stepsOf } from "../scripts/recovery/steps.ts";
import { IN_PLACE_RESTART, type RestartSteps, readInPlaceRestart } from "../src/api/in-place-restart.ts";
import { connect, type KubeClient } from "../src/kube/client.ts";
import { ensureBinaries } from "../test/cluster/binaries.ts";
import { Cluster, down, freeSlot } from "../test/cluster/cluster.ts";
import { processesOf } from "../test/cluster/container.ts";
import { programArchive } from "../test/cluster/parts/images.ts";
import { terminalProgress } from "../test/cluster/progress.ts";
import { startReprise, UNDETERRED } from "../test/e2e/reprise.ts";
import { memoryOf } from "./process-memory.ts";
import { median, quantile } from "./quantile.ts";
import { checkGates } from "./ranges.ts";
import {
  CONTENDERS,
  type Contender,
  jobSetOf,
  namespaceOf,
  TITLES,
  UPSTREAM_AGENT_IMAGE,
  upstreamRights,
  type Workers,
} from "./recovery/contenders.ts";
import { drawDistribution, drawTimeline } from "./recovery/picture.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "1" },
    repetitions: { type: "string", default: "20" },
    "large-repetitions": { type: "string", default: "7" },
    "ignoring-repetitions": { type: "string", default: "7" },
    pictures: { type: "string", default: "docs/images" },
  },
});

const NODES = Number(values.nodes);

interface Section {
  readonly pods: number;
  readonly workers: Workers;
  readonly repetitions: number;
}

const SECTIONS: readonly Section[] = [
  { pods: 4, workers: "stops", repetitions: Number(values.repetitions) },
  { pods: 20, workers: "stops", repetitions: Number(values["large-repetitions"]) },
  { pods: 4, workers: "ignores", repetitions: Number(values["ignoring-repetitions"]) },
];

/** Wait before the next kill, until deleted Pods and Events of the last recovery are gone. */
const SETTLE_MS = 1_500;
const SIGTERM: Readonly<Record<Workers, string>> = { stops: "stop on SIGTERM", ignores: "ignore SIGTERM" };

/** The kubelet's period. A random delay up to this places the kill anywhere in it. */
const PERIOD_MS = 1_000;

const slot = freeSlot(24);
const progress = terminalProgress();
try {
  const cluster = await Cluster.up({ slot, nodes: NODES, parts: ["jobset"], upstreamInPlace: true, progress });
  const reprise = await startReprise(cluster, UNDETERRED);
  const binaries = await ensureBinaries(["jobset"], progress);
  cluster.load(programArchive(binaries, "jobset", UPSTREAM_AGENT, UPSTREAM_AGENT_IMAGE));
  const client = connect({ kubeconfig: cluster.kubeconfig });
  const apply = async (...objects: readonly object[]) => {
    const list = { apiVersion: "v1", kind: "List", items: objects };
    await cluster.kubectl(["apply", "-f", "-"], { input: JSON.stringify(list) });
  };
  await apply(...CONTENDERS.map(namespaceOf), ...upstreamRights());
  const figures: Record<string, number> = {};
  for (const section of SECTIONS) {
    if (section.repetitions === 0) continue;
    const measured = await measure(client, section, (contender) =>
      apply(jobSetOf(contender, section.pods, section.workers, { spread: NODES > 1 })),
    );
    report(section, measured.recoveries, measured.steps);
    reportMemory(measured.memory);
    if (section.workers === "stops") publish(section.pods, measured, figures);
    for (const contender of CONTENDERS) {
      await cluster.kubectl(["delete", "jobset", "train", "-n", contender, "--wait", "--timeout=120s"]);
    }
  }
  console.log();
  if (!checkGates(NODES === 1 ? "recovery" : "recovery, spread", figures)) process.exitCode = 1;
  await client.close();
  await reprise.stop();
} finally {
  await down(slot);
}

/** Adds the figures that have gates, and draws the pictures. */
function publish(
  pods: number,
  { recoveries, memory }: { readonly recoveries: Recoveries; readonly memory: AgentMemory },
  figures: Record<string, number>,
): void {
  const ratio = (of: (seconds: readonly number[]) => number, peer: Contender) =>
    of(secondsOf(recoveries.reprise)) / of(secondsOf(recoveries[peer]));
  figures[`median ratio to upstream, ${pods} Pods`] = ratio(median, "upstream");
  figures[`median ratio to Recreate, ${pods} Pods`] = ratio(median, "recreate");
  figures[`p90 ratio to upstream, ${pods} Pods`] = ratio((seconds) => quantile(seconds, 0.9), "upstream");
  figures[`agent's memory, ratio to upstream, ${pods} Pods`] = median(memory.reprise) / median(memory.upstream);
  if (NODES > 1) return;
  writeFileSync(join(values.pictures, `recovery-distribution-${pods}.svg`), drawDistribution(pods, recoveries));
  if (pods === 4) writeFileSync(join(values.pictures, "recovery.svg"), drawTimeline(recoveries));
}

type Recoveries = Readonly<Record<Contender, Recovery[]>>;

/** Resident memory in MiB of each agent of a running group. */
type AgentMemory = Readonly<Record<"reprise" | "upstream", readonly number[]>>;

async function measure(
  client: KubeClient,
  { pods, workers, repetitions }: Section,
  create: (contender: Contender) => Promise<void>,
) {
  const recoveries: Recoveries = { reprise: [], upstream: [], recreate: [] };
  const observers = CONTENDERS.map((contender) => ({ contender, observer: new PodObserver(client, contender) }));
  // One group after the other: with 60 Pods at once, upstream's 20 twice exceeded the start limit.
  for (const { contender, observer } of observers) {
    await create(contender);
    observer.start();
    await observer.running(pods);
  }
  const step = progress.step(`${pods} Pods whose workers ${SIGTERM[workers]}, ${repetitions} repetitions`);
  for (let i = 0; i < repetitions; i++) {
    for (const { contender, observer } of observers) {
      await sleep(SETTLE_MS + Math.random() * PERIOD_MS);
      recoveries[contender].push(await observer.killOne(pods));
    }
  }
  step.done();
  await sleep(SETTLE_MS);
  const steps = await historyOf(client);
  const memoryIn = (wanted: Contender) =>
    observers
      .filter(({ contender }) => contender === wanted)
      .flatMap(({ observer }) => processesOf(...observer.agents()).flat())
      .map((pid) => memoryOf(pid).rss);
  const memory: AgentMemory = { reprise: memoryIn("reprise"), upstream: memoryIn("upstream") };
  for (const { observer } of observers) await observer.stop();
  return { recoveries, steps, memory };
}

async function historyOf(client: KubeClient): Promise<readonly RestartSteps[]> {
  const { group, version, plural } = IN_PLACE_RESTART;
  const path = `/apis/${group}/${version}/namespaces/reprise/${plural}/train`;
  return readInPlaceRestart(await client.request("GET", path)).status?.history ?? [];
}

/** When the kubelet first saw the dead worker: up to a second after the kill, at random for every contender. */
function firstDown({ lanes }: Recovery): number {
  return Math.min(...lanes.map((lane) => lane.down));
}

/** The recovery time without that random wait. */
function sinceSeen(recovery: Recovery): number {
  return recovery.seconds - firstDown(recovery);
}

function secondsOf(recoveries: readonly Recovery[]): readonly number[] {
  return recoveries.map(({ seconds }) => seconds);
}

function report({ pods, workers }: Section, recoveries: Recoveries, history: readonly RestartSteps[]): void {
  console.log(`\n${pods} Pods on ${NODES === 1 ? "one node" : `${NODES} nodes`}, workers ${SIGTERM[workers]},`);
  console.log("seconds from the kill to every worker running, median (p90):\n");
  console.log(`  ${"".padEnd(32)}all running    once seen      first down   all down     all back     new Pods`);
  for (const contender of CONTENDERS) {
    const list = recoveries[contender];
    const figure = (of: (recovery: Recovery) => number) => {
      const seconds = list.map(of);
      return `${median(seconds).toFixed(2)} (${quantile(seconds, 0.9).toFixed(2)})`.padEnd(13);
    };
    const columns = [
      `${figure(({ seconds }) => seconds)}  `,
      `${figure(sinceSeen)}  `,
      figure(firstDown),
      figure(({ lanes }) => Math.max(...lanes.map((lane) => lane.down))),
      figure(({ lanes }) => Math.max(...lanes.map((lane) => lane.back))),
      String(median(list.map(({ newPods }) => newPods))),
    ];
    console.log(`  ${TITLES[contender].padEnd(32)}${columns.join("")}`);
  }
  console.log(`\n  Steps of reprise's last ${history.length} restarts as its controller recorded them, median:`);
  for (const { name } of stepsOf({})) {
    const took = history.flatMap((each) => stepsOf(each).filter((step) => step.name === name));
    const seconds = took.map((step) => step.seconds).filter(Number.isFinite);
    console.log(`    ${name.padEnd(34)}${median(seconds).toFixed(2)} s`);
  }
}

function reportMemory(memory: AgentMemory): void {
  console.log("\n  Resident memory of an agent whose worker runs, median (largest):");
  for (const contender of ["reprise", "upstream"] as const) {
    const held = memory[contender];
    console.log(`    ${TITLES[contender].padEnd(34)}${median(held).toFixed(1)} (${Math.max(...held).toFixed(1)}) MiB`);
  }
}
