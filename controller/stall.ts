// A barrier that nobody lifts: after a while somebody has to look, and is told where. Pure.
import type { JobSet } from "../src/api/jobset.ts";
import { holdEndsAt } from "./backoff.ts";
import type { Group } from "./group.ts";
import { describeMissing } from "./missing.ts";
import { CONDITION, withCondition } from "./present.ts";
import type { Status, Step } from "./step.ts";

/** A start or restart takes seconds, and pulling an image most of a minute. What takes longer needs somebody to look. */
const STALL_MS = 60_000;

export function reportStall(group: Group, jobSet: JobSet, status: Status, now: number): Step | undefined {
  const since = waitingSince(status);
  if (since === undefined || now < since + STALL_MS || jobSet.suspended || isStalled(status)) return undefined;
  const message = describeMissing(group, status.syncedEpoch + 1);
  const stalled = { type: CONDITION.stalled, status: true, reason: "PodsMissing", message };
  return {
    status: { ...status, conditions: withCondition(status.conditions, stalled, now) },
    notices: [
      {
        type: "Warning",
        reason: "BarrierStalled",
        action: "Wait",
        note: `waiting for epoch ${status.syncedEpoch + 1}, ${message}`,
      },
    ],
  };
}

/** A barrier that is held on purpose does not stall before it may be lifted. */
function waitingSince(status: Status): number | undefined {
  const barrier = status.conditions.find((each) => each.type === CONDITION.atBarrier && each.status === "True");
  if (barrier?.lastTransitionTime === undefined) return undefined;
  return Math.max(Date.parse(barrier.lastTransitionTime), holdEndsAt(status) ?? 0);
}

function isStalled({ conditions }: Status): boolean {
  return conditions.some(({ type, status }) => type === CONDITION.stalled && status === "True");
}

export function stallAt(jobSet: JobSet, status: Status): number | undefined {
  const since = waitingSince(status);
  return since === undefined || jobSet.suspended || isStalled(status) ? undefined : since + STALL_MS;
}
