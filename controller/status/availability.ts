// Accounts for the time of a group, from one state to the next. It changes only when the phase or the history does, so
// it causes no write of its own. What the controller does not see, such as a lost object, begins a new account. Pure.
import { type Availability, TALLY_LIMIT, type Tally, timeSpent } from "../../src/api/availability.ts";
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { timestamp } from "./conditions.ts";

type Status = InPlaceRestartStatus;
type State = Availability["state"];

/** `status` has its new phase and history. */
export function account(jobSet: JobSet, status: Status, now: number): Availability {
  const before = status.availability ?? opened(now);
  const state = stateOf(jobSet, status);
  const changed = state === before.state ? before : entered(before, state, beginOf(state, before, status, now));
  return withRestart(changed, status);
}

function opened(now: number): Availability {
  return {
    state: "Waiting",
    since: timestamp(now),
    spent: { Waiting: 0, Running: 0, Restarting: 0, Suspended: 0 },
    restarts: 0,
    lastEpoch: 0,
    causes: [],
    blamedPods: [],
    blamedNodes: [],
  };
}

function stateOf(jobSet: JobSet, { phase }: Status): State {
  if (phase === "Completed" || phase === "Failed") return "Ended";
  if (jobSet.suspended) return "Suspended";
  return phase === "Starting" ? "Waiting" : phase;
}

function entered(before: Availability, state: State, at: number): Availability {
  // Whole milliseconds, as they are stored.
  const since = timestamp(at);
  return { ...before, state, since, spent: timeSpent(before, Date.parse(since)) };
}

/** A restart begins with its failure, which is seen before the controller can tell the group. */
function beginOf(state: State, { since }: Availability, { history }: Status, now: number): number {
  const seen = state === "Restarting" ? Date.parse(history.at(-1)?.failureSeen ?? "") : Number.NaN;
  return Number.isNaN(seen) ? now : Math.min(now, Math.max(seen, Date.parse(since)));
}

/** Counts the newest restart once, when its next epoch has started: then its cause is final. */
function withRestart(before: Availability, { history }: Status): Availability {
  const last = history.at(-1);
  if (last?.synced === undefined || last.toEpoch === undefined || last.toEpoch <= before.lastEpoch) return before;
  const { reason, pod, node } = last.cause;
  return {
    ...before,
    restarts: before.restarts + 1,
    lastEpoch: last.toEpoch,
    causes: counted(before.causes, reason),
    blamedPods: counted(before.blamedPods, pod),
    blamedNodes: counted(before.blamedNodes, node),
  };
}

/** One more restart for this name. The names with the most restarts come first; of equal ones, the latest. */
function counted(tallies: readonly Tally[], name: string | undefined): readonly Tally[] {
  if (name === undefined) return tallies;
  const restarts = tallies.find((tally) => tally.name === name)?.restarts ?? 0;
  const others = tallies.filter((tally) => tally.name !== name);
  // A new name needs a place, or it would never be counted twice.
  const kept = restarts === 0 ? others.slice(0, TALLY_LIMIT - 1) : others;
  return [{ name, restarts: restarts + 1 }, ...kept].sort((a, b) => b.restarts - a.restarts);
}
