// The escalation ladder: a slot that keeps failing gets a new Pod, then the whole JobSet is recreated, until the budget
// is spent. Without it a restart in place could loop forever on a broken node. Pure.
import type { RestartAction, Streak } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import type { RestartPolicy } from "../../src/api/restart-policy.ts";
import { readWholeNumber } from "../../src/api/whole-number.ts";
import type { RequestedAction } from "../group/exit-classes.ts";

type Rung = Exclude<RestartAction, "FailJobSet">;

/** The action for a failure with this streak. Every N-th failure of one slot in a row goes one rung up. */
export function rungFor(
  requested: RequestedAction,
  streak: Streak | undefined,
  jobSet: JobSet,
  policy: RestartPolicy,
): Rung {
  const rung: Rung = requested === "recreate" ? "RecreatePod" : "RestartInPlace";
  const every = escalateAfter(jobSet, policy);
  if (streak === undefined || every === 0 || streak.failures % every !== 0) return rung;
  return streak.failures === every || !mayRecreate(jobSet) ? "RecreatePod" : "RecreateJobSet";
}

/** Whether JobSet would recreate its Jobs instead of failing. If it would fail, only the group's own budget decides. */
export function mayRecreate({ failurePolicy, restartsCountTowardsMax }: JobSet): boolean {
  return failurePolicy !== undefined && restartsCountTowardsMax < failurePolicy.maxRestarts;
}

function escalateAfter({ annotations }: JobSet, policy: RestartPolicy): number {
  return readWholeNumber(annotations[ANNOTATION.escalateAfter] ?? "") ?? policy.escalateAfter;
}
