// A barrier that nobody lifts, or a stage that never fills: after a while somebody has to look, and is told where. Pure.
import type { JobSet } from "../../src/api/jobset.ts";
import { holdEndsAt } from "../escalation/backoff.ts";
import type { Group } from "../group/group.ts";
import { dueStages, unfilled } from "../group/startup-order.ts";
import { describeAwaited, describeMissing } from "../status/awaited-pods.ts";
import type { EventReason } from "../status/event-reasons.ts";
import { CONDITION, isStalled, STALL, withCondition } from "../status/summary.ts";
import type { Status, Step } from "./rule.ts";

/** A start or restart takes seconds, and pulling an image most of a minute. What takes longer needs somebody to look. */
const STALL_MS = 60_000;

export function reportStall(group: Group, jobSet: JobSet, status: Status, now: number): Step | undefined {
  const wait = waitOf(status);
  if (wait === undefined || now < wait.since + STALL_MS || jobSet.suspended || isStalled(status)) return undefined;
  const { reason, message, event, note } = wait.atBarrier ? barrierStall(group, status) : stageStall(group, status);
  const stalled = { type: CONDITION.stalled, status: true, reason, message };
  return {
    status: { ...status, conditions: withCondition(status.conditions, stalled, now) },
    notices: [{ type: "Warning", reason: event, action: "Wait", note }],
  };
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
  const stages = unfilled(group, status);
  const message = describeMissing(group, stages, status.syncedEpoch);
  const names = stages.map(({ stage }) => stage.name).join(", ");
  return { reason: STALL.stageWaits, message, event: "StageStalled", note: `waiting to start ${names}, ${message}` };
}

/** A group waits at its barrier, or has begun and waits for a stage: never both. */
function waitOf(status: Status): { readonly since: number; readonly atBarrier: boolean } | undefined {
  const wait = status.conditions.find(
    (each) => (each.type === CONDITION.atBarrier || each.type === CONDITION.stageWaits) && each.status === "True",
  );
  if (wait?.lastTransitionTime === undefined) return undefined;
  const since = Date.parse(wait.lastTransitionTime);
  if (wait.type !== CONDITION.atBarrier) return { since, atBarrier: false };
  // A barrier that is held on purpose does not stall before it may be lifted.
  return { since: Math.max(since, holdEndsAt(status) ?? 0), atBarrier: true };
}

export function stallAt(jobSet: JobSet, status: Status): number | undefined {
  const wait = waitOf(status);
  return wait === undefined || jobSet.suspended || isStalled(status) ? undefined : wait.since + STALL_MS;
}
