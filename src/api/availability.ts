// What a group has spent its time on, and what has interrupted it, as kept in the status of its InPlaceRestart.
// Every write sends the whole status, so the lists are short.
import { asCount, asList, asMap, asText } from "../json/fields.ts";

/** What a group spends its time on. */
export const TIMED_STATES = ["Waiting", "Running", "Restarting", "Suspended"] as const;
export type TimedState = (typeof TIMED_STATES)[number];

/** Ended: the JobSet has completed or failed, and nothing is counted any more. */
const STATES = [...TIMED_STATES, "Ended"] as const;
type State = (typeof STATES)[number];

/** Restarts with one cause, or blamed on one Pod or node. */
export interface Tally {
  readonly name: string;
  readonly restarts: number;
}

/** Pods and nodes that are named. A busier one replaces the one with the fewest restarts. */
export const TALLY_LIMIT = 5;

export interface Availability {
  readonly state: State;
  /** When the state began. RFC 3339 with milliseconds. */
  readonly since: string;
  /** Milliseconds before `since`, by state. */
  readonly spent: Readonly<Record<TimedState, number>>;
  /** Restarts that reached the next epoch, whether or not they count towards the budget. */
  readonly restarts: number;
  /** The epoch that the last of them started. */
  readonly lastEpoch: number;
  readonly causes: readonly Tally[];
  readonly blamedPods: readonly Tally[];
  readonly blamedNodes: readonly Tally[];
}

/** Milliseconds in each state until now. */
export function timeSpent({ state, since, spent }: Availability, now: number): Readonly<Record<TimedState, number>> {
  if (state === "Ended") return spent;
  return { ...spent, [state]: spent[state] + Math.max(0, now - Date.parse(since)) };
}

export function readAvailability(value: unknown): Availability | undefined {
  const read = asMap(value);
  const state = STATES.find((known) => known === read["state"]);
  const since = asText(read["since"]);
  if (state === undefined || since === undefined || Number.isNaN(Date.parse(since))) return undefined;
  const spent = asMap(read["spent"]);
  const time = (of: TimedState) => asCount(spent[of]) ?? 0;
  return {
    state,
    since,
    spent: {
      Waiting: time("Waiting"),
      Running: time("Running"),
      Restarting: time("Restarting"),
      Suspended: time("Suspended"),
    },
    restarts: asCount(read["restarts"]) ?? 0,
    lastEpoch: asCount(read["lastEpoch"]) ?? 0,
    causes: readTallies(read["causes"]),
    blamedPods: readTallies(read["blamedPods"]),
    blamedNodes: readTallies(read["blamedNodes"]),
  };
}

function readTallies(value: unknown): readonly Tally[] {
  return asList(value).flatMap((entry) => {
    const { name, restarts } = asMap(entry);
    const [text, count] = [asText(name), asCount(restarts)];
    return text === undefined || count === undefined ? [] : [{ name: text, restarts: count }];
  });
}
