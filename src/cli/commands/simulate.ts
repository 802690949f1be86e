// `reprise simulate`: runs the restart protocol in virtual time, one scenario as a timeline or many random ones as a
// check.
import { type Command, InvalidArgumentError, Option } from "commander";
import { RepriseError } from "../../errors.ts";
import { FAULTS, type Fault, parseFault } from "../../simulate/faults/catalog.ts";
import type { RunResult } from "../../simulate/simulate.ts";
import { timelineLines } from "../../simulate/timeline.ts";

interface Options {
  readonly seed: number;
  readonly pods: number;
  readonly faults: readonly Fault[];
  readonly runs?: number;
}

/** A longer timeline is unreadable, and the run would take minutes. */
const MOST_PODS = 1_000;
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
    .addHelpText("after", `\nFaults:\n${faultHelp()}`)
    .action(async (options: Options) => {
      if (options.runs === undefined) await playOne(options);
      else await check(options.seed, options.runs);
    });
}

async function playOne({ seed, pods, faults }: Options): Promise<void> {
  const { playScenario } = await import("../../simulate/play.ts");
  const result = playScenario({ seed, pods, faults });
  print(timelineLines(result.moments));
  print([summary(result)]);
  throwBreach(seed, result);
}

async function check(first: number, runs: number): Promise<void> {
  const { playSeed } = await import("../../simulate/play.ts");
  for (let seed = first; seed < first + runs; seed += 1) {
    const result = playSeed(seed);
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
