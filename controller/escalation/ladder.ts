// The escalation ladder: a slot that keeps failing gets a new Pod, then the whole JobSet is recreated, until the budget
// is spent. A group that keeps failing with no Pod to blame climbs as a group. Without the ladder a restart in place
// could loop forever on a broken node. Pure.
import type { RestartAction, Streak } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import type { RestartPolicy } from "../../src/api/restart-policy.ts";
import { readWholeNumber } from "../../src/api/whole-number.ts";
import type { RequestedAction } from "../group/exit-classes.ts";
import { mayRecreateJobSet } from "./failure-rules.ts";

export type Rung = Exclude<RestartAction, "FailJobSet">;

/** The action for a failure of one slot with this streak. Every N-th failure of the slot in a row goes one rung up. */
export function rungFor(
  requested: RequestedAction,
  streak: Streak | undefined,
  jobSet: JobSet,
  policy: RestartPolicy,
): Rung {
  const rung: Rung = requested === "recreate" ? "RecreatePod" : "RestartInPlace";
  const every = escalateAfter(jobSet, policy);
  const failures = streak?.failures ?? 0;
  if (!isStepUp(failures, every)) return rung;
  return failures === every || !mayRecreate(jobSet) ? "RecreatePod" : "RecreateJobSet";
}

/** The same for a hang. One that is blamed twice in a row gets a new Pod: a hang has cost more than a crash already. */
export function rungForHang(streak: Streak | undefined, jobSet: JobSet, policy: RestartPolicy): Rung {
  const rung = rungFor("restart", streak, jobSet, policy);
  if (rung !== "RestartInPlace" || escalateAfter(jobSet, policy) === 0) return rung;
  return (streak?.failures ?? 0) >= 2 ? "RecreatePod" : rung;
}

/**
 * The action for a failure that no Pod can be blamed for. A new Pod for one of them would heal nothing, so every N-th
 * of them recreates the JobSet, or replaces all Pods that failed.
 */
export function rungForGroup(streak: Streak | undefined, jobSet: JobSet, policy: RestartPolicy): Rung {
  if (!isStepUp(streak?.unexplained ?? 0, escalateAfter(jobSet, policy))) return "RestartInPlace";
  return mayRecreate(jobSet) ? "RecreateJobSet" : "RecreatePod";
}

/** A new Pod instead of a recreation that JobSet would not carry out. `replicatedJob`: that of the Job to fail. */
export function permittedRung(rung: Rung, jobSet: JobSet, replicatedJob: string, counted: boolean): Rung {
  return rung === "RecreateJobSet" && !mayRecreateJobSet(jobSet, replicatedJob, counted) ? "RecreatePod" : rung;
}

function isStepUp(failures: number, every: number): boolean {
  return every > 0 && failures > 0 && failures % every === 0;
}

/** Whether JobSet would recreate its Jobs instead of failing. If it would fail, only the group's own budget decides. */
export function mayRecreate({ failurePolicy, restartsCountTowardsMax }: JobSet): boolean {
  return failurePolicy !== undefined && restartsCountTowardsMax < failurePolicy.maxRestarts;
}

/** 0 if the group never escalates. */
export function escalateAfter({ annotations }: JobSet, policy: RestartPolicy): number {
  return readWholeNumber(annotations[ANNOTATION.escalateAfter] ?? "") ?? policy.escalateAfter;
}
