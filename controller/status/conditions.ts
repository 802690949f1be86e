// The conditions of an InPlaceRestart: their types, and how one is set. Pure.
import { type InPlaceRestartStatus, MESSAGE_LIMIT } from "../../src/api/in-place-restart.ts";
import type { Condition } from "../../src/api/metadata.ts";
import { clip } from "./clip.ts";

export const CONDITION = {
  /** Every worker runs, except those of stages that are still held. */
  ready: "Ready",
  /** The group waits for all of its Pods to reach the next epoch. */
  atBarrier: "AtBarrier",
  /** The epoch runs, and a stage that may start now waits for the rest of its Pods. */
  stageWaits: "StageWaiting",
  /** A wait at the barrier or of a stage takes longer than a start should. */
  stalled: "Stalled",
  /** A Pod does not terminate, so its Job cannot create the replacement. */
  waitingForTermination: "WaitingForTermination",
  /** No worker that reports its progress makes any. */
  hung: "Hung",
  budgetSpent: "BudgetSpent",
} as const;

/** Reasons of the Stalled condition, one for each kind of wait. */
export const STALL = { atBarrier: "PodsMissing", stageWaits: "StageNotFilled" } as const;

/** A condition to set. */
export interface ConditionUpdate {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

/** Sets one condition. lastTransitionTime changes only with the status, as in Kubernetes. */
export function withCondition(
  conditions: readonly Condition[],
  update: ConditionUpdate,
  now: number,
): readonly Condition[] {
  const status = update.status ? "True" : "False";
  const before = conditions.find(({ type }) => type === update.type);
  const since = before?.status === status ? before.lastTransitionTime : undefined;
  const message = clip(update.message, MESSAGE_LIMIT);
  const after: Condition = { ...update, status, message, lastTransitionTime: since ?? timestamp(now) };
  return before === undefined
    ? [...conditions, after]
    : conditions.map((condition) => (condition.type === update.type ? after : condition));
}

/** Whether the condition was ever set, whatever its status. */
export function hasCondition({ conditions }: InPlaceRestartStatus, type: string): boolean {
  return conditions.some((condition) => condition.type === type);
}

export function isStalled(status: InPlaceRestartStatus): boolean {
  return isTrue(status, CONDITION.stalled);
}

export function isHung(status: InPlaceRestartStatus): boolean {
  return isTrue(status, CONDITION.hung);
}

function isTrue({ conditions }: InPlaceRestartStatus, asked: string): boolean {
  return conditions.some(({ type, status }) => type === asked && status === "True");
}

/** RFC 3339 with milliseconds. */
export function timestamp(now: number): string {
  return new Date(now).toISOString();
}
