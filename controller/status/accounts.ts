// Adds up the accounts of all groups, for metrics. Pure.
import { type Availability, TIMED_STATES, type TimedState, timeSpent } from "../../src/api/availability.ts";

/** Milliseconds by state. */
type Times = Readonly<Record<TimedState, number>>;

/** The account of one group, and the UID of the object that has it. */
export interface Account {
  readonly uid: string;
  readonly availability: Availability;
}

/** Nodes that a metric names: as many series at most. */
export const NODE_LIMIT = 10;

/** The time that groups have spent since they were last looked at. A group that was not known yet adds nothing. */
export function timeSince(
  known: ReadonlyMap<string, Times>,
  accounts: readonly Account[],
  now: number,
): { readonly spent: Times; readonly known: ReadonlyMap<string, Times> } {
  const spent: Record<TimedState, number> = { Waiting: 0, Running: 0, Restarting: 0, Suspended: 0 };
  const next = new Map<string, Times>();
  for (const { uid, availability } of accounts) {
    const times = { ...timeSpent(availability, now) };
    const before = known.get(uid) ?? times;
    for (const state of TIMED_STATES) {
      // A restart begins when its failure was seen, which takes back some time that was counted as running.
      times[state] = Math.max(times[state], before[state]);
      spent[state] += times[state] - before[state];
    }
    next.set(uid, times);
  }
  return { spent, known: next };
}

/** Restarts by the node of the blamed Pod, of the nodes with the most. */
export function blamedNodes(accounts: readonly Account[]): ReadonlyMap<string, number> {
  const restarts = new Map<string, number>();
  for (const tally of accounts.flatMap(({ availability }) => availability.blamedNodes)) {
    restarts.set(tally.name, (restarts.get(tally.name) ?? 0) + tally.restarts);
  }
  return new Map([...restarts].sort(([, a], [, b]) => b - a).slice(0, NODE_LIMIT));
}
