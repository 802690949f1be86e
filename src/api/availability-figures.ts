// What people want to know of a group's account: how much of its time it ran, how often it was interrupted and for how
// long, and which nodes cause failures again and again. Pure.
import { type Availability, type Tally, type TimedState, timeSpent } from "./availability.ts";
import type { InPlaceRestartStatus } from "./in-place-restart.ts";

/** A node that was blamed this often is named. The alert RepriseNodeCausesFailures has the same number. */
export const SUSPECT_RESTARTS = 3;

export interface AvailabilityFigures {
  /** Seconds in each state until now. */
  readonly seconds: Readonly<Record<TimedState, number>>;
  /** The share of the time without suspensions in which every worker ran, from 0 to 1. Absent before any such time. */
  readonly share?: number;
  /** Restarts, including one that is not over yet. */
  readonly interruptions: number;
  /** Mean time that it ran between two restarts. Absent without a restart. */
  readonly mtbfSeconds?: number;
  /** Mean time from a failure until every worker ran again. Absent without a restart. */
  readonly mttrSeconds?: number;
}

/** `isOpen`: a restart has not reached its next epoch, so the account has its time but does not count it yet. */
export function availabilityFigures(availability: Availability, isOpen: boolean, now: number): AvailabilityFigures {
  const spent = timeSpent(availability, now);
  const { Running: running, Restarting: restarting, Waiting: waiting, Suspended: suspended } = spent;
  const interruptions = availability.restarts + (isOpen ? 1 : 0);
  const wanted = running + restarting + waiting;
  return {
    seconds: {
      Running: running / 1_000,
      Restarting: restarting / 1_000,
      Waiting: waiting / 1_000,
      Suspended: suspended / 1_000,
    },
    ...(wanted === 0 ? {} : { share: running / wanted }),
    interruptions,
    ...(interruptions === 0
      ? {}
      : { mtbfSeconds: running / interruptions / 1_000, mttrSeconds: restarting / interruptions / 1_000 }),
  };
}

export function hasOpenRestart({ availability, history }: InPlaceRestartStatus): boolean {
  const last = history.at(-1);
  return availability?.state === "Restarting" && last !== undefined && last.toEpoch === undefined;
}

/** Nodes that were blamed again and again, by one or several groups. The worst come first. */
export function suspectNodes(accounts: readonly Pick<Availability, "blamedNodes">[]): readonly Tally[] {
  const restarts = new Map<string, number>();
  for (const { name, restarts: more } of accounts.flatMap(({ blamedNodes }) => blamedNodes)) {
    restarts.set(name, (restarts.get(name) ?? 0) + more);
  }
  return [...restarts]
    .filter(([, count]) => count >= SUSPECT_RESTARTS)
    .sort(([a, first], [b, second]) => second - first || (a < b ? -1 : 1))
    .map(([name, count]) => ({ name, restarts: count }));
}
