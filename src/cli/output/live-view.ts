// The output of `reprise status -w`: a screen that is drawn again for a terminal, and lines of what changed otherwise.
// Pure.
import type { GroupReport } from "./status-report.ts";
import { groupAsLine } from "./status-text.ts";

export const ENTER_SCREEN = "\u001b[?1049h\u001b[?25l";
export const LEAVE_SCREEN = "\u001b[?25h\u001b[?1049l";
const HOME_AND_CLEAR = "\u001b[H\u001b[J";

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Cut to the size of the terminal: a line that wraps would move the others. */
export function screen(text: string, { columns, rows }: Size, at: string): string {
  const lines = [`${at}  Ctrl-C ends`, "", ...text.trimEnd().split("\n")];
  const cut = lines.slice(0, Math.max(1, rows - 1)).map((line) => [...line].slice(0, columns).join(""));
  return `${HOME_AND_CLEAR}${cut.join("\n")}`;
}

/** A line for each group that is new, has changed or is gone. `shown` holds the last line of each group. */
export function changedLines(
  groups: readonly GroupReport[],
  shown: Map<string, string>,
  at: string,
): readonly string[] {
  const now = new Map(groups.map((group) => [`${group.namespace}/${group.name}`, groupAsLine(group)]));
  const changed = [...now].filter(([name, line]) => shown.get(name) !== line).map(([, line]) => `${at}  ${line}`);
  const gone = [...shown.keys()].filter((name) => !now.has(name)).map((name) => `${at}  ${name}  gone`);
  shown.clear();
  for (const [name, line] of now) shown.set(name, line);
  return [...changed, ...gone];
}
