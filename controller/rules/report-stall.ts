// A barrier that is not lifted, or a stage whose Pods never arrive: after a minute users are told which Pods are
// missing, and why. Pure.
import type { JobSet } from "../../src/api/jobset.ts";
import { backoffEndsAt } from "../escalation/backoff.ts";
import type { Group } from "../group/group.ts";
import { dueStages, unfilledStages } from "../group/startup-order.ts";
import { describeAwaited, describeMissing } from "../status/awaited-pods.ts";
import { CONDITION, isStalled, STALL, withCondition } from "../status/conditions.ts";
import type { EventReason } from "../status/event-reasons.ts";
import type { Context, Status, Step } from "./rule.ts";

/** A start or restart takes seconds, and an image pull most of a minute. Anything longer needs attention. */
const STALL_MS = 60_000;

export function reportStall({ group, jobSet, status, now }: Context): Step | undefined {
  const wait = waitOf(status);
  if (wait === undefined || now < wait.since + STALL_MS || jobSet.suspended || isStalled(status)) return undefined;
  const { reason, message, event, note } = wait.atBarrier ? barrierStall(group, status) : stageStall(group, status);
  const stalled = { type: CONDITION.stalled, status: true, reason, message };
  return {
    status: { ...status, conditions: withCondition(status.conditions, stalled, now) },
    notices: [{ type: "Warning", reason: event, action: "Wait", note }],
  };
}

/** When the current wait becomes a stall, in milliseconds since 1970. */
export function stallAt(jobSet: JobSet, status: Status): number | undefined {
  const wait = waitOf(status);
  return wait === undefined || jobSet.suspended || isStalled(status) ? undefined : wait.since + STALL_MS;
}

interface Stall {
  readonly reason: string;
  readonly message: string;
  readonly event: EventReason;
  readonly note: string;
}

function barrierStall(group: Group, { syncedEpoch }: Status): Stall {
  const epoch = syncedEpoch + 1;
  const message = describeAwaited(group, dueStages(group), epoch);
  return { reason: STALL.atBarrier, message, event: "BarrierStalled", note: `waiting for epoch ${epoch}, ${message}` };
}

function stageStall(group: Group, status: Status): Stall {
  const stages = unfilledStages(group, status);
  const message = describeMissing(group, stages, status.syncedEpoch);
  const names = stages.map(({ stage }) => stage.name).join(", ");
  return { reason: STALL.stageWaits, message, event: "StageStalled", note: `waiting to start ${names}, ${message}` };
}

/** A group waits either at its barrier or, while the epoch runs, for a stage; never for both. */
function waitOf(status: Status): { readonly since: number; readonly atBarrier: boolean } | undefined {
  const wait = status.conditions.find(
    (each) => (each.type === CONDITION.atBarrier || each.type === CONDITION.stageWaits) && each.status === "True",
  );
  if (wait?.lastTransitionTime === undefined) return undefined;
  const since = Date.parse(wait.lastTransitionTime);
  if (wait.type !== CONDITION.atBarrier) return { since, atBarrier: false };
  // The back-off is intended: the wait starts when it ends.
  return { since: Math.max(since, backoffEndsAt(status) ?? 0), atBarrier: true };
}
