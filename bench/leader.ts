// Measures what one leading controller costs: CPU time of a restart of all groups, CPU time and memory while nothing
// happens, and CPU time of a controller that starts until it has decided about every group. Each case is a process of
// its own. Without a cluster: watch events arrive projected.
//
//   npx node --expose-gc bench/leader.ts
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makingTime, Player } from "./controller/play.ts";
import { Subject } from "./controller/subject.ts";
import { Workload } from "./controller/workload.ts";
import { checkGates } from "./ranges.ts";

interface Case {
  readonly groups: number;
  readonly podsPerGroup: number;
}

interface Figures extends Case {
  readonly restartCpuSeconds: number;
  readonly idleCpuMilli: number;
  readonly memoryMiB: number;
  readonly startupCpuSeconds: number;
  readonly startupWrites: number;
}

const CASES: readonly Case[] = [
  { groups: 1, podsPerGroup: 10_000 },
  { groups: 100, podsPerGroup: 100 },
  { groups: 1_000, podsPerGroup: 10 },
];
/** Events a second, over all groups. */
const RATE = 5_000;
/** Lists arrive as fast as the controller takes them. */
const LIST_RATE = 1_000_000;
const IDLE_SECONDS = 20;
const MIB = 1_048_576;

async function main(): Promise<void> {
  const own = fileURLToPath(import.meta.url);
  const rows: Figures[] = [];
  for (const each of CASES) {
    const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", own, JSON.stringify(each)]);
    rows.push(JSON.parse(stdout));
    console.error(stdout.trim());
  }
  console.log("| groups x Pods | CPU, all restart | CPU, idle | memory | CPU, start-up | writes at start-up |");
  console.log("|---|---|---|---|---|---|");
  for (const row of rows) {
    const size = `${row.groups.toLocaleString("en-US")} x ${row.podsPerGroup.toLocaleString("en-US")}`;
    const startup = `${row.startupCpuSeconds.toFixed(2)} s`;
    const cells = [`${row.restartCpuSeconds.toFixed(2)} s`, `${row.idleCpuMilli.toFixed(1)}m`];
    console.log(`| ${[size, ...cells, `${row.memoryMiB.toFixed(0)} MiB`, startup, row.startupWrites].join(" | ")} |`);
  }
  const most = (figure: (row: Figures) => number) => Math.max(...rows.map(figure));
  const figures = {
    "CPU seconds, all Pods of all groups restart": most(({ restartCpuSeconds }) => restartCpuSeconds),
    "CPU of an idle leader, thousandths of a core": most(({ idleCpuMilli }) => idleCpuMilli),
    "memory, MiB": most(({ memoryMiB }) => memoryMiB),
    "start-up, CPU seconds": most(({ startupCpuSeconds }) => startupCpuSeconds),
    "writes at start-up": most(({ startupWrites }) => startupWrites),
  };
  process.exitCode = checkGates("leader", figures) ? 0 : 1;
}

async function measure({ groups, podsPerGroup }: Case): Promise<Figures> {
  const jobs = Math.min(podsPerGroup, 100);
  const shape = { jobs, podsPerJob: podsPerGroup / jobs };
  const workloads = Array.from({ length: groups }, (_, index) => new Workload(`group-${index}`, shape));
  const subject = new Subject();
  const player = new Player(RATE / groups);
  await Promise.all(workloads.map((group) => player.play(subject, group, group.start())));
  const restart = await cpuOf(() => Promise.all(workloads.map((group) => player.play(subject, group, group.wave()))));
  await sleep(2_000);
  globalThis.gc?.();
  const idle = await cpuOf(() => sleep(IDLE_SECONDS * 1_000));
  const memoryMiB = process.memoryUsage().rss / MIB;
  const lists = workloads.map((group) => {
    const object = subject.object(group.key);
    if (object === undefined) throw new Error(`${group.key} has no object`);
    return { group, acts: [{ events: group.lists(object), until: () => true }] };
  });
  await subject.stop();
  const next = new Subject(subject);
  const reader = new Player(LIST_RATE);
  const startup = await cpuOf(async () => {
    for (const { group, acts } of lists) await reader.play(next, group, acts);
    next.lead();
    while (workloads.some(({ key }) => next.decisions(key) === 0)) await sleep(5);
  });
  await sleep(500);
  const writes = next.writes - subject.writes;
  await next.stop();
  return {
    groups,
    podsPerGroup,
    restartCpuSeconds: restart,
    idleCpuMilli: (idle / IDLE_SECONDS) * 1_000,
    memoryMiB,
    startupCpuSeconds: startup,
    startupWrites: writes,
  };
}

/** Without what making the events costs. */
async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const [cpu, made] = [process.cpuUsage(), makingTime()];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return (user + system - (makingTime() - made)) / 1e6;
}

const [, , given] = process.argv;
if (given === undefined) await main();
else console.log(JSON.stringify(await measure(JSON.parse(given))));
