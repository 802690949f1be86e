// The text output of `reprise status`: a table of groups, or the details of one. Pure.
import { sourceText } from "../../api/budget.ts";
import { crashLines } from "./crash-report.ts";
import { ageOf, describeAwaited, type GroupReport, type RestartReport, STEPS } from "./status-report.ts";

/** One line per group. */
export function groupsAsText(groups: readonly GroupReport[], withNamespace: boolean): string {
  if (groups.length === 0) return "No JobSets that restart in place found\n";
  const rows = groups.map((group) => [
    ...(withNamespace ? [group.namespace] : []),
    group.name,
    group.phase,
    group.ready,
    String(group.syncedEpoch ?? "-"),
    restartsOf(group),
    note(group),
  ]);
  const head = [...(withNamespace ? ["NAMESPACE"] : []), "NAME", "PHASE", "READY", "EPOCH", "RESTARTS", "WAITING FOR"];
  return asLines(table([head, ...rows]));
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
  const waiting = group.waitingFor.flatMap((awaited) => [
    `  waiting for ${describeAwaited(awaited, now)}`,
    ...awaited.remedies.map((remedy) => `    - ${remedy}`),
  ]);
  const restarts = group.history.map((restart) => restartRow(restart, now));
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
    ...section("Waiting", waiting),
    ...section("Last restarts", indented(restarts, ["EPOCHS", "SEEN", "COUNTED", ...STEP_HEADS, "CAUSE"])),
    ...section("Last words", group.history.flatMap(lastWords)),
    ...section("Shared memory", indented(leftovers, ["POD", "LEFTOVERS"])),
    ...section("Conditions", indented(conditions, ["TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"])),
  ]);
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
