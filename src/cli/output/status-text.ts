// The text output of `reprise status`: a table of groups, or the details of one. Pure.
import type { Tally } from "../../api/availability.ts";
import { sourceText } from "../../api/budget.ts";
import { count } from "./count.ts";
import { crashLines } from "./crash-report.ts";
import { BAR_LEGEND, restartBars } from "./restart-bars.ts";
import {
  ageOf,
  describeAwaited,
  type GroupReport,
  type RestartReport,
  STEPS,
  spanOf,
  suspectNodesOf,
} from "./status-report.ts";

/** Further columns: the budget's source, availability and the last restart. `now` in milliseconds since 1970. */
interface Wide {
  readonly now: number;
}

/** One line per group, and then the nodes that cause failures again and again. */
export function groupsAsText(groups: readonly GroupReport[], withNamespace: boolean, wide?: Wide): string {
  if (groups.length === 0) return "No JobSets that restart in place found\n";
  const rows = groups.map((group) => [
    ...(withNamespace ? [group.namespace] : []),
    ...cellsOf(group),
    ...(wide === undefined ? [] : wideCells(group, wide.now)),
    note(group),
  ]);
  const wideHead = wide === undefined ? [] : ["BUDGET", "AVAILABLE", "MTBF", "MTTR", "LAST RESTART", "TOOK", "CAUSE"];
  const head = ["NAME", "PHASE", "READY", "EPOCH", "RESTARTS", ...wideHead, "WAITING FOR"];
  return asLines([
    ...table([[...(withNamespace ? ["NAMESPACE"] : []), ...head], ...rows]),
    ...section("Nodes that cause failures again and again", suspectLines(groups)),
  ]);
}

function suspectLines(groups: readonly GroupReport[]): readonly string[] {
  return suspectNodesOf(groups).map((node) => `  ${suspectText(node)}`);
}

function suspectText({ name, restarts }: Tally): string {
  return `${name}, blamed for ${restarts} restarts; to keep new Pods away from it: kubectl cordon ${name}`;
}

function cellsOf(group: GroupReport): readonly string[] {
  return [group.name, group.phase, group.ready, String(group.syncedEpoch ?? "-"), restartsOf(group)];
}

function wideCells({ restarts: { from }, availability, history }: GroupReport, now: number): readonly string[] {
  const { share, mtbfSeconds, mttrSeconds } = availability ?? {};
  const account = [
    from === undefined ? "-" : sourceText(from),
    share === undefined ? "-" : percent(share),
    mtbfSeconds === undefined ? "-" : spanOf(mtbfSeconds),
    mttrSeconds === undefined ? "-" : `${mttrSeconds.toFixed(1)}s`,
  ];
  const last = history.at(-1);
  if (last === undefined) return [...account, "-", "-", "-"];
  const { failureSeen = "", steps, cause } = last;
  const took = steps.allRunning === undefined ? "-" : `${steps.allRunning.toFixed(1)}s`;
  return [...account, `${ageOf(failureSeen, now)} ago`, took, cause];
}

/** Rounded down: only a group that was never interrupted has 100 %. */
function percent(share: number): string {
  return `${(Math.floor(share * 10_000) / 100).toFixed(2)} %`;
}

/** The state of a group in one line, for output that is not a terminal. */
export function groupAsLine(group: GroupReport): string {
  const [name = "", ...cells] = cellsOf(group);
  const waits = group.missing ?? note(group);
  return [`${group.namespace}/${name}`, ...cells, ...(waits === "" ? [] : [waits])].join("  ");
}

/** The details of one group. `now` in milliseconds since 1970. */
export function groupAsText(group: GroupReport, now: number): string {
  const facts = [
    ["JobSet", `${group.namespace}/${group.name}`],
    ["Phase", group.phase],
    ["Ready", group.ready],
    ["Epoch", epochOf(group)],
    ...(group.heldStages.length === 0 ? [] : [["Held", group.heldStages.join(", ")]]),
    ["Restarts", budgetOf(group)],
  ];
  const missing = group.missing === undefined ? [] : [`  ${group.missing}`];
  const terminating = group.waitingFor.flatMap((awaited) => [
    `  waiting for ${describeAwaited(awaited, now)}`,
    ...awaited.remedies.map((remedy) => `    - ${remedy}`),
  ]);
  const restarts = group.history.map((restart) => restartRow(restart, now));
  const progress = group.progress.map(({ pod, reports, step, seconds }) => [
    pod,
    step === undefined ? "-" : String(step),
    `${seconds}s`,
    reports ? "" : "has not reported progress in this epoch",
  ]);
  const leftovers = group.sharedMemory.map(({ pod, text }) => [pod, text]);
  const conditions = group.conditions.map(({ type, status, reason, message, lastTransitionTime = "" }) => [
    type,
    status,
    reason,
    ageOf(lastTransitionTime, now),
    message,
  ]);
  return asLines([
    ...table(facts),
    ...section("Waiting", [...missing, ...terminating]),
    ...section("Availability", availabilityLines(group)),
    ...section("Last restarts", indented(restarts, ["EPOCHS", "SEEN", "COUNTED", ...STEP_HEADS, "CAUSE"])),
    ...section("Where the time went", timeLines(group.history)),
    ...section("Last words", group.history.flatMap(lastWords)),
    ...section("Progress", indented(progress, ["POD", "STEP", "SINCE", ""])),
    ...section("Shared memory", indented(leftovers, ["POD", "LEFTOVERS"])),
    ...section("Conditions", indented(conditions, ["TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"])),
  ]);
}

function availabilityLines({ availability }: GroupReport): readonly string[] {
  if (availability === undefined) return [];
  const { seconds, share, interruptions, mtbfSeconds, mttrSeconds } = availability;
  const { Running, Restarting, Waiting, Suspended } = seconds;
  const times = `running ${spanOf(Running)}, restarting ${spanOf(Restarting)}, waiting for Pods ${spanOf(Waiting)}`;
  const means =
    mtbfSeconds === undefined || mttrSeconds === undefined
      ? []
      : [
          ["MTBF", `${spanOf(mtbfSeconds)} from one failure to the next (${count(interruptions, "restart")})`],
          ["MTTR", `${mttrSeconds.toFixed(1)}s until every worker ran again`],
        ];
  const facts = [
    ["Available", `${share === undefined ? "-" : percent(share)} (${times}, suspended ${spanOf(Suspended)})`],
    ...means,
    ...tallyRows("Causes", availability.causes),
    ...tallyRows("Pods", availability.blamedPods),
    ...tallyRows("Nodes", availability.blamedNodes),
  ];
  const suspects = availability.suspectNodes.map((node) => ["Suspect", suspectText(node)]);
  return table([...facts, ...suspects]).map((line) => `  ${line}`);
}

function tallyRows(title: string, tallies: readonly Tally[]): readonly (readonly string[])[] {
  if (tallies.length === 0) return [];
  return [[title, tallies.map(({ name, restarts }) => `${name} ${restarts}`).join(", ")]];
}

const STEP_HEADS: readonly string[] = STEPS.map((step) =>
  step.replace(/[A-Z]/, (letter) => ` ${letter}`).toUpperCase(),
);

function restartRow(restart: RestartReport, now: number) {
  const { failureSeen = "", counted, steps, cause } = restart;
  return [
    epochsOf(restart),
    `${ageOf(failureSeen, now)} ago`,
    counted ? "yes" : "no",
    ...STEPS.map((step) => (steps[step] === undefined ? "-" : `+${steps[step].toFixed(1)}s`)),
    cause,
  ];
}

/** One bar for each restart, if any took time. */
function timeLines(history: readonly RestartReport[]): readonly string[] {
  const bars = restartBars(history);
  if (bars.every((bar) => bar === "")) return [];
  const rows = history.map((restart, index) => {
    const last = STEPS.findLast((step) => restart.steps[step] !== undefined);
    const seconds = last === undefined ? "-" : `${(restart.steps[last] ?? 0).toFixed(1)}s`;
    return [epochsOf(restart), seconds, bars[index] ?? ""];
  });
  return [...table(rows).map((line) => `  ${line}`), `  ${BAR_LEGEND}`];
}

/** One paragraph for each restart of which a container is known. */
function lastWords(restart: RestartReport): readonly string[] {
  const [first, ...rest] = restart.crash === undefined ? [] : crashLines(restart.crash);
  if (first === undefined) return [];
  const epochs = epochsOf(restart);
  return [`  ${epochs}  ${first}`, ...rest.map((line) => `  ${" ".repeat(epochs.length)}  ${line}`)];
}

function epochsOf({ fromEpoch, toEpoch }: RestartReport): string {
  return `${fromEpoch} → ${toEpoch ?? "?"}`;
}

function epochOf({ syncedEpoch, deprecatedEpoch }: GroupReport): string {
  if (syncedEpoch === undefined) return "none yet";
  return deprecatedEpoch === syncedEpoch ? `${syncedEpoch} ended, waiting for ${syncedEpoch + 1}` : `${syncedEpoch}`;
}

function restartsOf({ restarts: { used, max } }: GroupReport): string {
  return max === undefined ? String(used) : `${used}/${max}`;
}

function budgetOf({ restarts: { used, max, from } }: GroupReport): string {
  const source = from === undefined ? "" : ` (${sourceText(from)})`;
  return max === undefined ? String(used) : `${used} of ${max}${source}`;
}

/** Why a group waits, in one line from its conditions. */
function note({ conditions }: GroupReport): string {
  const waiting = WAITING.map((type) => conditions.find((each) => each.type === type && each.status === "True"));
  const message = waiting.find((condition) => condition !== undefined)?.message ?? "";
  return message.replace(/^waiting for /, "").replace(/; .*$/s, "");
}

/** The most specific first. */
const WAITING = ["WaitingForTermination", "Stalled", "AtBarrier"] as const;

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ["", title, ...lines];
}

function indented(rows: readonly (readonly string[])[], head: readonly string[]): readonly string[] {
  return rows.length === 0 ? [] : table([head, ...rows]).map((line) => `  ${line}`);
}

/** Aligns the columns. */
function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

function asLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}
