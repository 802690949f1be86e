// The ladder: a slot that fails again and again gets a new Pod, then the whole JobSet is recreated, until the budget is
// spent. A restart in place must not loop for ever on a broken node. Pure.
import type { RestartAction, Streak } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import type { RestartPolicy } from "../../src/api/restart-policy.ts";
import { readWholeNumber } from "../../src/api/whole-number.ts";
import type { Ask } from "../group/exit-classes.ts";

type Rung = Exclude<RestartAction, "FailJobSet">;

/** What is done about a failure with this streak. At every N-th failure of one slot in a row it is one rung more. */
export function rungFor(ask: Ask, streak: Streak | undefined, jobSet: JobSet, policy: RestartPolicy): Rung {
  const asked: Rung = ask === "recreate" ? "RecreatePod" : "RestartInPlace";
  const every = escalateAfter(jobSet, policy);
  if (streak === undefined || every === 0 || streak.failures % every !== 0) return asked;
  return streak.failures === every || !mayRecreate(jobSet) ? "RecreatePod" : "RecreateJobSet";
}

/** Whether JobSet would recreate instead of failing. Where it would fail, the group's own budget has the last word. */
export function mayRecreate({ failurePolicy, restartsCountTowardsMax }: JobSet): boolean {
  return failurePolicy !== undefined && restartsCountTowardsMax < failurePolicy.maxRestarts;
}

function escalateAfter({ annotations }: JobSet, policy: RestartPolicy): number {
  const own = annotations[ANNOTATION.escalateAfter];
  return (own === undefined ? undefined : readWholeNumber(own)) ?? policy.escalateAfter;
}
