// `reprise simulate`: runs the restart protocol in virtual time, one scenario as a timeline or many random ones as a
// check.
import { type Command, InvalidArgumentError, Option } from "commander";
import { RepriseError } from "../../errors.ts";
import { FAULTS, type Fault, parseFault } from "../../simulate/faults/catalog.ts";
import type { RunResult } from "../../simulate/simulate.ts";
import { timelineLines } from "../../simulate/timeline.ts";
import { globalOptions } from "../options.ts";

interface Options {
  readonly seed: number;
  readonly pods: number;
  readonly faults: readonly Fault[];
  readonly runs?: number;
  readonly hangs?: true;
  readonly filename?: readonly string[];
}

/** A longer timeline is unreadable, and the run would take minutes. */
const MOST_PODS = 1_000;
const MOST_ESTIMATED_PODS = 10_000;
const MOST_RUNS = 10_000_000;
const MOST_SEED = 2 ** 32 - 1;

export function addSimulate(program: Command): void {
  program
    .command("simulate")
    .description("simulate group restarts in virtual time, without a cluster")
    .addOption(new Option("--seed <n>", "seed of the random numbers").argParser(wholeNumber(0, MOST_SEED)).default(1))
    .addOption(new Option("--pods <n>", "number of Pods in the group").argParser(wholeNumber(1, MOST_PODS)).default(4))
    .addOption(
      new Option("--faults <list>", "faults and when they strike, for example kill-worker@15s,evict-pod@40s")
        .argParser(faultList)
        .default([{ kind: "kill-worker", at: 15_000 }], "kill-worker@15s"),
    )
    .addOption(
      new Option("--runs <n>", "check this many random groups with random faults, starting at --seed")
        .argParser(wholeNumber(1, MOST_RUNS))
        .conflicts(["pods", "faults"]),
    )
    .addOption(new Option("--hangs", "with --runs: workers hang and pause too").conflicts(["pods", "faults"]))
    .addOption(
      new Option(
        "-f, --filename <file...>",
        "estimate how long the JobSets of a file take to recover from the crash of one worker",
      ).conflicts(["pods", "faults"]),
    )
    .addHelpText("after", `\nFaults:\n${faultHelp()}\n\n${ESTIMATE_HELP}`)
    .action(async (options: Options, command: Command) => {
      if (options.filename !== undefined) await estimate(options.filename, options, globalOptions(command).config);
      else if (options.runs === undefined) await playOne(options);
      else await check(options.seed, options.runs, options.hangs === true);
    });
}

const ESTIMATE_HELP = `Estimates (-f):
  The delays of nodes and of the API server are those of the simulator's model, so compare shapes and sizes with them;
  docs/performance.md has measurements. At most ${MOST_ESTIMATED_PODS} Pods, which takes minutes. --runs sets how often
  each JobSet is simulated (default: 3 to 100, fewer for large ones). Time to pull images, to load a checkpoint and to
  wait for nodes is not included. Stages that others wait to complete are left out.`;

async function estimate(
  files: readonly string[],
  { runs, seed }: Options,
  configFile: string | undefined,
): Promise<void> {
  const { readInjectedJobSets } = await import("../input/injected-jobsets.ts");
  const { forecast, podsOf, shapeOf } = await import("../../simulate/forecast.ts");
  for (const { name, jobSet } of await readInjectedJobSets(files, configFile)) {
    const shape = shapeOf(jobSet);
    const pods = podsOf(shape);
    if (pods > MOST_ESTIMATED_PODS)
      throw new RepriseError("SIMULATION_TOO_LARGE", { name, pods, most: MOST_ESTIMATED_PODS });
    const { seconds, runs: played } = forecast(shape, runs ?? defaultRuns(pods), seed);
    const parts = Object.entries(seconds).map(([percentile, value]) => `${percentile} ${value.toFixed(1)} s`);
    print([`JobSet ${name}: ${pods} Pods, ${played} runs: recovery ${parts.join(", ")}`]);
  }
}

/** Enough for percentiles of a small group, and few enough that a large one takes minutes. */
function defaultRuns(pods: number): number {
  return Math.max(3, Math.min(100, Math.floor(10_000 / Math.max(1, pods))));
}

async function playOne({ seed, pods, faults }: Options): Promise<void> {
  const { playScenario } = await import("../../simulate/play.ts");
  const result = playScenario({ seed, pods, faults });
  print(timelineLines(result.moments));
  print([summary(result)]);
  throwBreach(seed, result);
}

async function check(first: number, runs: number, hangs: boolean): Promise<void> {
  const { playSeed, playSeedWithHangs } = await import("../../simulate/play.ts");
  for (let seed = first; seed < first + runs; seed += 1) {
    const result = hangs ? playSeedWithHangs(seed) : playSeed(seed);
    if (result.breaches.length === 0) continue;
    print(timelineLines(result.moments));
    throwBreach(seed, result);
  }
  print([`${runs} runs from seed ${first}: every invariant held, every group recovered`]);
}

function throwBreach(seed: number, { breaches }: RunResult): void {
  const [problem] = breaches;
  if (problem !== undefined) throw new RepriseError("SIMULATION_BREACH", { seed, problem });
}

function summary({ outcome, syncedEpoch, restarts }: RunResult): string {
  return `\n${outcome} in epoch ${syncedEpoch}, ${restarts} ${restarts === 1 ? "restart" : "restarts"} counted`;
}

function print(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d{1,10}$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`expected a whole number from ${least} to ${most}`);
  };
}

function faultList(text: string): readonly Fault[] {
  return text.split(",").map((part) => {
    const fault = parseFault(part.trim());
    if (fault !== undefined) return fault;
    const known = Object.keys(FAULTS).join(", ");
    throw new InvalidArgumentError(`${JSON.stringify(part)} is not of the form NAME@TIME; NAME is one of ${known}`);
  });
}

function faultHelp(): string {
  const names = Object.keys(FAULTS);
  const width = Math.max(...names.map((name) => name.length));
  return Object.entries(FAULTS)
    .map(([name, { text }]) => `  ${name.padEnd(width)}  ${text}`)
    .join("\n");
}
