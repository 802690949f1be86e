// A recovery as strips of characters, one per worker, for the terminal.
import { styleText } from "node:util";
import type { Lane } from "../recovery/observe.ts";

/** Characters per second. */
const SCALE = 8;
/** Longer recoveries are cut on the left, so that the end is visible. */
const WIDTH = 96;

type State = "runs" | "down" | "waits";

const LOOK: Readonly<Record<State, readonly [character: string, color: "green" | "red" | "yellow"]>> = {
  runs: ["█", "green"],
  down: ["·", "red"],
  waits: ["▒", "yellow"],
};

export const LEGEND = `    ${Object.entries({ runs: "worker runs", down: "down", waits: "waits for the others" })
  .map(([state, text]) => `${paint(state as State, 1)} ${text}`)
  .join("   ")}`;

export function strip(lane: Lane, seconds: number): string {
  const states = Array.from({ length: Math.max(1, Math.round(seconds * SCALE)) }, (_, i) => stateAt(lane, i / SCALE));
  const shown = states.slice(-WIDTH);
  let text = "";
  for (let from = 0; from < shown.length; ) {
    const state = shown[from] ?? "down";
    const next = shown.findIndex((each, i) => i > from && each !== state);
    const to = next === -1 ? shown.length : next;
    text += paint(state, to - from);
    from = to;
  }
  return text;
}

/** Comparisons with NaN are false, which is right for what has not happened yet. */
function stateAt({ down, back, up }: Lane, at: number): State {
  if (at >= up || !(at >= down)) return "runs";
  return at >= back ? "waits" : "down";
}

function paint(state: State, length: number): string {
  const [character, color] = LOOK[state];
  return styleText(color, character.repeat(length));
}
