// Where the time of a restart went, as a bar: one sign for each step, in proportion to its duration. Pure.
import type { RestartReport } from "./status-report.ts";

interface Part {
  readonly sign: string;
  readonly meaning: string;
  /** The step at which the part ends. */
  readonly to: keyof RestartReport["steps"];
}

const PARTS: readonly Part[] = [
  { sign: "▏", meaning: "decided", to: "deprecated" },
  { sign: "█", meaning: "Pods restart", to: "allRestarted" },
  { sign: "▒", meaning: "barrier held", to: "synced" },
  { sign: "░", meaning: "workers start", to: "allRunning" },
];

/** Signs of the longest bar. */
const WIDTH = 40;

export const BAR_LEGEND = PARTS.map(({ sign, meaning }) => `${sign} ${meaning}`).join("  ");

/** One bar for each restart, all in the scale of the longest. A restart that goes on has what is known of it. */
export function restartBars(history: readonly RestartReport[]): readonly string[] {
  const longest = Math.max(...history.map(({ steps }) => Math.max(0, ...Object.values(steps))));
  if (!(longest > 0)) return history.map(() => "");
  return history.map(({ steps }) => {
    let from = 0;
    let bar = "";
    for (const { sign, to } of PARTS) {
      const at = steps[to];
      if (at === undefined) continue;
      // Rounded ends, not rounded lengths, so that the signs of a bar add up to its length.
      bar += sign.repeat(Math.max(0, signsFor(at, longest) - signsFor(from, longest)));
      from = Math.max(from, at);
    }
    return bar;
  });
}

function signsFor(seconds: number, longest: number): number {
  return Math.round((seconds / longest) * WIDTH);
}
