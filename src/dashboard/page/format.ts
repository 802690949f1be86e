// Times and states in words. Pure.
import type { Tally } from "../../api/availability.ts";
import { availabilityFigures } from "../../api/availability-figures.ts";
import type { GroupView, PodState, RecoveryFigures, Step } from "../view/wire.ts";

/** "0.4 s", "12 s", "3 min 20 s", "2 h 5 min". */
export function duration(seconds: number): string {
  const rest = Math.max(0, seconds);
  if (rest < 10) return `${rest.toFixed(1)} s`;
  if (rest < 60) return `${Math.floor(rest)} s`;
  const minutes = Math.floor(rest / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(rest % 60)} s`;
  return minutes < 60 * 48
    ? `${Math.floor(minutes / 60)} h ${minutes % 60} min`
    : `${Math.floor(minutes / 1_440)} days`;
}

/** How long ago, to the second. Both times in milliseconds. */
export function ago(time: number, now: number): string {
  return Number.isNaN(time) ? "unknown" : `${duration(Math.max(0, Math.round((now - time) / 1_000)))} ago`;
}

/** Every state has a shape besides its color; grid.ts draws it. */
export const STATE_WORDS: Readonly<Record<PodState, string>> = {
  running: "running",
  starting: "starting",
  barrier: "at the barrier",
  restarting: "restarting",
  pending: "pending",
  failed: "failed",
  terminating: "terminating",
  succeeded: "succeeded",
};

/** A symbol besides the word, for people who scan a long list. */
const PHASE_SYMBOLS: Readonly<Record<string, string>> = {
  Starting: "◐",
  Running: "●",
  Restarting: "↻",
  Completed: "✓",
  Failed: "✕",
};

export function phaseText({ phase, suspended }: GroupView): string {
  return suspended ? "⏸ Suspended" : `${PHASE_SYMBOLS[phase] ?? ""} ${phase}`.trim();
}

export function restartsText({ restarts, budget }: GroupView): string {
  return budget === undefined ? String(restarts) : `${restarts} of ${budget.max}`;
}

/** Rounded down: only a group that was never interrupted has 100 %. */
export function percent(share: number): string {
  return `${(Math.floor(share * 10_000) / 100).toFixed(2)} %`;
}

export function availableText({ account }: GroupView, now: number): string {
  const { share } = account === undefined ? {} : availabilityFigures(account, account.isOpen, now);
  return share === undefined ? "–" : percent(share);
}

export function suspectText({ name, restarts }: Tally): string {
  return `Node ${name} causes failures again and again: it was blamed for ${restarts} restarts.`;
}

export function recoveryText({ completed, medianSeconds }: RecoveryFigures): string {
  return medianSeconds === undefined ? "–" : `${duration(medianSeconds)} (median of ${completed})`;
}

/** What happens until each step. */
export const STEP_WORDS: Readonly<Record<Exclude<Step, "failureSeen">, string>> = {
  deprecated: "failure judged",
  allRestarted: "Pods restart",
  synced: "barrier lifts",
  allRunning: "workers start",
};
