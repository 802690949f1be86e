// The tables of one size, and its figures for the gates.
import { markdownTable } from "../../scripts/docs/generated-part.ts";
import type { SideResult } from "./restart.ts";
import { COORDINATOR, SIDES, type Side } from "./side.ts";
import { type Size, titleOf } from "./size.ts";

export type Results = Readonly<Record<Side, SideResult>>;

/** One line of the report: a figure of both sides. */
interface Line {
  readonly name: string;
  readonly of: (result: SideResult, side: Side) => number;
  readonly digits: number;
}

const LINES: readonly Line[] = [
  { name: "failure to all barriers lifted, s", of: ({ restart }) => restart.seconds.lifted, digits: 2 },
  { name: "API server's CPU, s", of: ({ restart }) => restart.cpu["kube-apiserver"] ?? Number.NaN, digits: 2 },
  { name: "coordinator's CPU, s", of: ({ restart }, side) => restart.cpu[COORDINATOR[side]] ?? Number.NaN, digits: 2 },
  { name: "watch bytes to agents, KB", of: ({ restart }) => restart.watchBytes / 1000, digits: 0 },
  { name: "requests of agents", of: ({ restart }) => restart.agentRequests, digits: 0 },
  { name: "answers with 429", of: ({ restart }) => restart.refused, digits: 0 },
];

/** Names in ranges.yaml, by the lines above. */
const GATED: readonly (readonly [figure: string, line: number])[] = [
  ["lifted barriers, ratio to upstream", 0],
  ["API server CPU, ratio to upstream", 1],
  ["coordinator CPU, ratio to upstream", 2],
  ["watch bytes to agents, ratio to upstream", 3],
];

export function figuresOf(results: Results): Record<string, number> {
  return Object.fromEntries(GATED.map(([figure, line]) => [figure, ratio(LINES[line], results)]));
}

export function print(size: Size, results: Results): void {
  console.log(`\n${titleOf(size)}, one restart of ${size.groups === 1 ? "the group" : "every group"}\n`);
  console.table(
    Object.fromEntries(
      LINES.map((line) => [
        line.name,
        {
          ...Object.fromEntries(SIDES.map((side) => [side, shown(line, results, side)])),
          ratio: Number(ratio(line, results).toFixed(2)),
        },
      ]),
    ),
  );
  console.log("CPU seconds of the restart, and peak memory in MiB, of each process:");
  console.table(
    Object.fromEntries(
      processes(results).map((name) => [
        name,
        Object.fromEntries(
          SIDES.flatMap((side) => [
            [`${side}, s`, round(results[side].restart.cpu[name], 2)],
            [`${side}, MiB`, round(results[side].peak[name], 0)],
          ]),
        ),
      ]),
    ),
  );
  console.log("Requests as the API server counted them (a watch counts when it ends):");
  console.table(
    Object.fromEntries(
      requestKinds(results).map((kind) => [
        kind,
        Object.fromEntries(SIDES.map((side) => [side, round(results[side].restart.requests.get(kind) ?? 0, 0)])),
      ]),
    ),
  );
  for (const side of SIDES) {
    for (const error of results[side].errors) console.log(`an agent of ${side} saw: ${error.slice(0, 200)}`);
  }
}

/** The table of docs/performance.md. */
export function markdown(all: ReadonlyMap<Size, Results>): string {
  const head = ["one restart", "all barriers lifted", "API server's CPU", "coordinator's CPU", "watch bytes to agents"];
  const rows = [...all].map(([size, results]) => [
    titleOf(size),
    ...LINES.slice(0, 4).map((line) => {
      const [ours, theirs] = SIDES.map((side) => shown(line, results, side));
      const unit = line.name.endsWith("KB") ? "KB" : "s";
      return `${ours} ${unit} / ${theirs} ${unit} = ${ratio(line, results).toFixed(2)}`;
    }),
  ]);
  return markdownTable(head, rows);
}

function shown({ of, digits }: Line, results: Results, side: Side): number {
  return round(of(results[side], side), digits) ?? Number.NaN;
}

function ratio(line: Line | undefined, { reprise, upstream }: Results): number {
  return line === undefined ? Number.NaN : line.of(reprise, "reprise") / line.of(upstream, "upstream");
}

function processes(results: Results): readonly string[] {
  return [...new Set(SIDES.flatMap((side) => Object.keys(results[side].peak)))];
}

/** Those that matter: what controllers and leases send now and then is left out. */
function requestKinds({ reprise, upstream }: Results): readonly string[] {
  const count = (kind: string) =>
    Math.max(reprise.restart.requests.get(kind) ?? 0, upstream.restart.requests.get(kind) ?? 0);
  const kinds = new Set([...reprise.restart.requests.keys(), ...upstream.restart.requests.keys()]);
  return [...kinds].filter((kind) => count(kind) >= 3).toSorted((a, b) => count(b) - count(a));
}

function round(value: number | undefined, digits: number): number | undefined {
  return value === undefined ? undefined : Number(value.toFixed(digits));
}
