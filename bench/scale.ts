// Measures one restart in place of large groups, reprise beside upstream's alpha: real etcd, API server, Job controller
// and JobSet manager, real webhook, controller and policies, and a hollow fleet: kubelets without containers and agents
// without processes. Both sides get the same Pods, one after the other, each with a control plane of its own. `node
// bench/scale.ts [--pods 500] [--pods 100x20] [--pictures FOLDER]`; without a size all of them, and the picture goes to
// docs/images. With --fail-over it measures instead what a change of reprise's leader in the middle of a restart costs.
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureBinaries } from "../test/cluster/binaries.ts";
import { terminalProgress } from "../test/cluster/progress.ts";
import { checkGates } from "./ranges.ts";
import { figuresOfFailOver, markdownOfFailOver, measureFailOver } from "./scale/fail-over.ts";
import { drawGrowth } from "./scale/picture.ts";
import { type Plane, startPlane } from "./scale/plane.ts";
import { figuresOf, markdown, print, type Results } from "./scale/report.ts";
import { measureRestarts, requestsWhileWaiting, type SideResult, WAIT_SECONDS } from "./scale/restart.ts";
import { SIDES, type Side } from "./scale/side.ts";
import { parseSize, SIZES, type Size, titleOf } from "./scale/size.ts";

const { values } = parseArgs({
  options: {
    pods: { type: "string", multiple: true, default: [] },
    pictures: { type: "string" },
    "fail-over": { type: "boolean", default: false },
  },
});

const MOST_RESTARTS = 3;
const FAIL_OVER_SIZE: Size = { groups: 1, pods: 2_000 };
/** Where Pods are also left waiting. */
const WAITING_PODS = 500;

const sizes = values.pods.length === 0 ? SIZES : values.pods.map(parseSize);
const progress = terminalProgress();
console.log(`load average at the start: ${load()}`);
await ensureBinaries(["etcd", "kubernetes", "jobset"], progress);
let holds = true;
if (values["fail-over"]) {
  for (const size of values.pods.length === 0 ? [FAIL_OVER_SIZE] : sizes) await measureLeaders(size);
  process.exit(holds ? 0 : 1);
}
const all = new Map<Size, Results>();
for (const size of sizes) {
  const figures: Record<string, number> = {};
  const results = await measure(size, figures);
  all.set(size, results);
  print(size, results);
  Object.assign(figures, figuresOf(results));
  holds = checkGates(`scale, ${titleOf(size)}`, figures) && holds;
}
const pictures = values.pictures ?? (sizes === SIZES ? "docs/images" : undefined);
if (pictures !== undefined) writeFileSync(join(pictures, "scale.svg"), drawGrowth(growth()));
if (sizes === SIZES) {
  const [, cpu] = growth();
  const perPod = (pods: number) => (cpu?.points.find((each) => each.pods === pods)?.reprise ?? Number.NaN) / pods;
  console.log();
  const figures = { "API server CPU per Pod, 5,000 to 500 Pods": perPod(5_000) / perPod(500) };
  holds = checkGates("scale, growth", figures) && holds;
}
console.log(`\nload average at the end: ${load()}`);
console.log(`\nreprise / upstream = ratio:\n\n${markdown(all)}`);
process.exitCode = holds ? 0 : 1;

async function measureLeaders(size: Size): Promise<void> {
  const step = progress.step(`${titleOf(size)} restart while the leader changes`);
  const failOver = await measureFailOver(size);
  step.done();
  holds = checkGates(`fail-over, ${titleOf(size)}`, figuresOfFailOver(failOver)) && holds;
  console.log(`\n${markdownOfFailOver(failOver)}`);
}

async function measure(size: Size, figures: Record<string, number>): Promise<Results> {
  const isWaiting = size.groups === 1 && size.pods === WAITING_PODS;
  const planes: Plane[] = [];
  const results: Partial<Record<Side, SideResult>> = {};
  try {
    for (const side of SIDES) {
      const starting = progress.step(`${side}: ${titleOf(size)} start`);
      const plane = await startPlane(side, size);
      planes.push(plane);
      starting.done();
      const restarting = progress.step(`${side}: ${titleOf(size)} restart in place`);
      results[side] = await measureRestarts(plane, size, results.reprise?.restarts ?? MOST_RESTARTS);
      restarting.done();
      if (!isWaiting) await planes.pop()?.stop();
    }
    if (isWaiting) {
      const step = progress.step(`both: ${titleOf(size)} wait for ${WAIT_SECONDS} s`);
      // At the same time: nothing happens meanwhile.
      const [ours = 0, theirs = 0] = await Promise.all(planes.map((plane) => requestsWhileWaiting(plane, size)));
      step.done();
      console.log(`requests of waiting Pods in ${WAIT_SECONDS} s: reprise ${ours}, upstream ${theirs}`);
      figures[`requests of waiting Pods in ${WAIT_SECONDS} s`] = ours;
    }
  } finally {
    await Promise.all(planes.map((plane) => plane.stop()));
  }
  const { reprise, upstream } = results;
  if (reprise === undefined || upstream === undefined) throw new Error("a side was not measured");
  return { reprise, upstream };
}

function growth() {
  const single = [...all].filter(([{ groups }]) => groups === 1);
  const points = (of: (result: SideResult) => number) =>
    single
      .map(([{ pods }, { reprise, upstream }]) => ({ pods, reprise: of(reprise), upstream: of(upstream) }))
      .filter(({ reprise, upstream }) => Number.isFinite(reprise + upstream));
  return [
    {
      title: "From the failure until all barriers are lifted, s",
      points: points((each) => each.restart.seconds.lifted),
    },
    { title: "API server's CPU, s", points: points((each) => each.restart.cpu["kube-apiserver"] ?? Number.NaN) },
  ];
}

function load(): string {
  return loadavg()
    .map((each) => each.toFixed(1))
    .join(" ");
}
