// What the server sends to the page, as plain data: the contract between the two. Text in it may come from any user of
// the cluster, so the page shows it as text only. Pure.

import type { Availability } from "../../api/availability.ts";

/** What a Pod does, in the order in which the page lists it. */
export const POD_STATES = [
  "running",
  "starting",
  "barrier",
  "restarting",
  "pending",
  "failed",
  "terminating",
  "succeeded",
] as const;
export type PodState = (typeof POD_STATES)[number];

/** One line in the list of groups. */
export interface GroupView {
  /** namespace/name of the JobSet. */
  readonly key: string;
  readonly phase: string;
  readonly suspended: boolean;
  readonly ready: string;
  /** Absent before the first epoch. */
  readonly epoch?: number;
  readonly restarts: number;
  /** The restarts that it may have, and where the number comes from. Absent if the JobSet is unknown. */
  readonly budget?: { readonly max: number; readonly from: string };
  /** Absent before the controller has opened an account. */
  readonly account?: Account;
  readonly recovery: RecoveryFigures;
  /** What it waits for, the most specific first. */
  readonly waitsFor: readonly Wait[];
}

/** The page adds the time that has passed since then. */
export interface Account extends Availability {
  /** Whether the time has a restart that is not counted yet. */
  readonly isOpen: boolean;
}

/** What the history says about recoveries. It keeps the last few restarts, so these are not totals. */
export interface RecoveryFigures {
  /** Restarts that are over, with their end in the history. */
  readonly completed: number;
  /** Of the failure until every worker ran again. Absent without a completed restart. */
  readonly medianSeconds?: number;
  readonly longestSeconds?: number;
  /** RFC 3339: since when every worker has run without a restart, as far as the status knows. */
  readonly runningSince?: string;
}

export interface Wait {
  /** The type of the condition. */
  readonly type: string;
  readonly message: string;
  readonly since?: string;
}

export const STEPS = ["failureSeen", "deprecated", "allRestarted", "synced", "allRunning"] as const;
export type Step = (typeof STEPS)[number];

export interface RestartView {
  readonly cause: string;
  readonly reason: string;
  readonly action: string;
  /** The rule of the controller that decided the action. */
  readonly rule?: string;
  readonly fromEpoch: number;
  readonly toEpoch?: number;
  readonly counted: boolean;
  readonly lastWords?: string;
  readonly backoffUntil?: string;
  /** Times in milliseconds since 1970. Steps that are still to come are absent. */
  readonly steps: Readonly<Partial<Record<Step, number>>>;
}

/** What the page shows about the selected group besides its line in the list. */
export interface GroupDetail {
  readonly key: string;
  readonly syncedEpoch?: number;
  readonly deprecatedEpoch?: number;
  readonly heldStages: readonly string[];
  /** Newest first. */
  readonly history: readonly RestartView[];
}

/** Numbers instead of names, because a group may have 10,000 of them. */
export type PodRow = readonly [
  /** Identifies the Pod until it is removed. */
  id: number,
  name: string,
  stage: string,
  job: number,
  index: number,
  node: string,
  /** Position in POD_STATES. */
  state: number,
  /** -1 before the Pod has one. */
  epoch: number,
  /** Of its worker containers. */
  restarts: number,
];

export type PodChange = readonly [id: number, node: string, state: number, epoch: number, restarts: number];

/** The events of the stream. `now` is the server's clock in milliseconds, so that the page need not trust its own. */
export interface Events {
  readonly groups: {
    readonly now: number;
    /** Whether this replaces everything that was sent before. */
    readonly reset: boolean;
    readonly changed: readonly GroupView[];
    readonly removed: readonly string[];
    /** Collections that were not listed yet: the view is incomplete. */
    readonly missing: readonly string[];
  };
  readonly detail: { readonly now: number; readonly detail: GroupDetail | null };
  readonly pods: {
    readonly now: number;
    readonly reset: boolean;
    readonly added: readonly PodRow[];
    readonly changed: readonly PodChange[];
    readonly removed: readonly number[];
  };
  /** What the server could not read from the cluster. */
  readonly problems: { readonly now: number; readonly problems: readonly Problem[] };
}

export type EventName = keyof Events;

export interface Problem {
  /** The collection, such as "pods". */
  readonly watched: string;
  readonly message: string;
}
