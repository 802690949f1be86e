// How many group restarts a JobSet may have. Pure.
import type { JobSet } from "../../src/api/jobset.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import { readWholeNumber } from "../../src/api/whole-number.ts";

export interface Budget {
  readonly max: number;
  /** Counted restarts in place, and recreations that JobSet counted itself. */
  readonly used: number;
}

/** `restarts`: the counted restarts in place so far. Without any setting the budget is 0, as in JobSet. */
export function budgetOf(jobSet: JobSet, restarts: number): Budget {
  const own = readWholeNumber(jobSet.annotations[ANNOTATION.maxRestarts] ?? "");
  return { max: own ?? jobSet.failurePolicy?.maxRestarts ?? 0, used: restarts + jobSet.restartsCountTowardsMax };
}

export function isSpent({ max, used }: Budget): boolean {
  return used >= max;
}
