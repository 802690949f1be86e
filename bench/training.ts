// Measures what a failure costs a training job: the examples for PyTorch and JAX, four ranks that find each other by
// DNS names and continue from a checkpoint, with reprise, upstream's InPlaceRestart and JobSet's Recreate. All three
// train at the same time and lose a rank in turn, so that a busy machine affects all alike. `node bench/training.ts
// [--failures 10] [--pictures docs/images]`, as root. The picture is of the same run as the figures.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { UPSTREAM_AGENT, WORKER } from "../scripts/recovery/observe.ts";
import { JOBSET } from "../src/api/names.ts";
import { readPod } from "../src/api/pod.ts";
import { asList } from "../src/json/fields.ts";
import { connect, type KubeClient } from "../src/kube/client.ts";
import { ensureBinaries } from "../test/cluster/binaries.ts";
import { Cluster, down, freeSlot } from "../test/cluster/cluster.ts";
import { killContainers } from "../test/cluster/container.ts";
import { programArchive } from "../test/cluster/parts/images.ts";
import { waitFor } from "../test/cluster/proc.ts";
import { terminalProgress } from "../test/cluster/progress.ts";
import { startReprise, UNDETERRED } from "../test/e2e/reprise.ts";
import { SharedFolder } from "../test/e2e/shared-folder.ts";
import { RANKS, readExample, type Step, stepsIn } from "../test/ecosystem/training-example.ts";
import { FRAMEWORKS, type Framework, trainingArchive } from "../test/image/training.ts";
import { median, quantile } from "./quantile.ts";
import { checkGates } from "./ranges.ts";
import {
  CONTENDERS,
  type Contender,
  namespaceOf,
  TITLES,
  UPSTREAM_AGENT_IMAGE,
  upstreamRights,
} from "./recovery/contenders.ts";
import { jobSetOf } from "./training/contenders.ts";
import { drawTraining } from "./training/picture.ts";
import { type Failure, type Measured, shareTrained, stepSeconds } from "./training/share.ts";

const { values } = parseArgs({
  options: {
    failures: { type: "string", default: "10" },
    pictures: { type: "string", default: "docs/images" },
  },
});

const FAILURES = Number(values.failures);
/** Importing a framework in twelve Pods takes long on two cores. */
const LIMIT_MS = 180_000;
/** Before each kill. The random part is the period of the kubelet, so that the kill comes anywhere in it. */
const SETTLE_MS = 1_500;
const PERIOD_MS = 1_000;

const slot = freeSlot(24);
const progress = terminalProgress();
const archives = [];
for (const framework of FRAMEWORKS) archives.push(await trainingArchive(framework, progress));
try {
  const parts = ["jobset", "dns"] as const;
  const cluster = await Cluster.up({ slot, nodes: 1, parts, upstreamInPlace: true, progress });
  const reprise = await startReprise(cluster, UNDETERRED);
  const binaries = await ensureBinaries(["jobset"], progress);
  for (const archive of archives) cluster.load(archive);
  cluster.load(programArchive(binaries, "jobset", UPSTREAM_AGENT, UPSTREAM_AGENT_IMAGE));
  const client = connect({ kubeconfig: cluster.kubeconfig });
  const measured: Partial<Record<Framework, Measured>> = {};
  await apply(cluster, ...CONTENDERS.map(namespaceOf), ...upstreamRights());
  for (const framework of FRAMEWORKS) measured[framework] = await measure(cluster, client, framework);
  const figures: Record<string, number> = {};
  for (const framework of FRAMEWORKS) {
    const result = measured[framework];
    if (result !== undefined) report(framework, result, figures);
  }
  writeFileSync(join(values.pictures, "training.svg"), drawTraining(measured));
  console.log();
  if (!checkGates("training", figures)) process.exitCode = 1;
  await client.close();
  await reprise.stop();
} finally {
  await down(slot);
}

async function apply(cluster: Cluster, ...objects: readonly object[]): Promise<void> {
  const list = { apiVersion: "v1", kind: "List", items: objects };
  await cluster.kubectl(["apply", "-f", "-"], { input: JSON.stringify(list) });
}

async function measure(cluster: Cluster, client: KubeClient, framework: Framework): Promise<Measured> {
  const jobs = [];
  for (const contender of CONTENDERS) {
    const storage = new SharedFolder(cluster, `${framework}-${contender}`);
    const example = await readExample(cluster.kubectl, framework, storage);
    const metadata = { name: `${framework}-program`, namespace: contender };
    await apply(cluster, { ...example.program, metadata }, jobSetOf(contender, example));
    jobs.push({ contender, storage });
    // One after the other: together, they would wait for the same two cores.
    await firstStep(storage, 0);
  }
  const failures: Record<Contender, Failure[]> = { reprise: [], upstream: [], recreate: [] };
  const step = progress.step(`${framework}, ${FAILURES} failures of each job`);
  const from = Date.now() / 1_000;
  for (let i = 0; i < FAILURES; i++) {
    for (const { contender, storage } of jobs) {
      await sleep(SETTLE_MS + Math.random() * PERIOD_MS);
      const victim = await workerOf(client, contender, i % RANKS);
      const { started } = last(stepsIn(storage));
      const at = Date.now() / 1_000;
      killContainers(victim);
      const next = await firstStep(storage, started);
      failures[contender].push({ at, seconds: next.time - at });
      step.update((i * jobs.length + jobs.length) / (FAILURES * jobs.length), contender);
    }
  }
  await sleep(SETTLE_MS);
  const to = Date.now() / 1_000;
  step.done();
  const jobsSteps = jobs.map(({ contender, storage }) => [contender, stepsIn(storage)] as const);
  for (const { contender } of jobs) {
    await cluster.kubectl(["delete", JOBSET.plural, framework, "-n", contender, "--wait", "--timeout=120s"]);
  }
  return { from, to, failures, steps: Object.fromEntries(jobsSteps) as Measured["steps"] };
}

async function firstStep(storage: SharedFolder, after: number): Promise<Step> {
  return await waitFor("a new run makes its first step", LIMIT_MS, () =>
    stepsIn(storage).find(({ started }) => started > after),
  );
}

function last(steps: readonly Step[]): Step {
  const found = steps.at(-1);
  if (found === undefined) throw new Error("the job has made no step");
  return found;
}

/** The container of a rank, without the runtime's prefix. Waits for a Pod that is being replaced. */
async function workerOf(client: KubeClient, namespace: string, rank: number): Promise<string> {
  return await waitFor(`rank ${rank} of ${namespace} runs`, LIMIT_MS, async () => {
    const pods = asList((await client.request("GET", `/api/v1/namespaces/${namespace}/pods`))["items"]).map(readPod);
    const pod = pods.find(({ completionIndex, deletion }) => completionIndex === rank && deletion === undefined);
    const worker = pod?.containers.find(({ name }) => name === WORKER);
    return worker?.state.kind === "running" ? worker.containerID?.replace("containerd://", "") : undefined;
  });
}

function report(framework: Framework, measured: Measured, figures: Record<string, number>): void {
  const { from, to, failures } = measured;
  const seconds = (contender: Contender) => failures[contender].map((failure) => failure.seconds);
  console.log(`\n${framework}: ${FAILURES} failures of each job in ${(to - from).toFixed(0)} s, one step every`);
  console.log(`${stepSeconds(measured).toFixed(2)} s; seconds from the kill of a rank to the next step:\n`);
  console.log(`  ${"".padEnd(32)}median   p90     lowest  highest  share of the time that new steps took`);
  for (const contender of CONTENDERS) {
    const list = seconds(contender);
    const columns = [median(list), quantile(list, 0.9), Math.min(...list), Math.max(...list)];
    const share = `${(shareTrained(measured, contender) * 100).toFixed(1)} %`;
    console.log(
      `  ${TITLES[contender].padEnd(32)}${columns.map((each) => each.toFixed(2).padEnd(8)).join("")} ${share}`,
    );
  }
  for (const peer of ["upstream", "recreate"] as const) {
    const name = peer === "upstream" ? "upstream" : "Recreate";
    figures[`${framework}, median ratio to ${name}`] = median(seconds("reprise")) / median(seconds(peer));
  }
}
