// How many group restarts a JobSet may have. Pure.
import type { JobSet } from "../../src/api/jobset.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import { readWholeNumber } from "../../src/api/whole-number.ts";

export interface Budget {
  readonly max: number;
  /** Restarts in place that counted, and recreations that JobSet counted itself. */
  readonly used: number;
}

/** `restarts`: those in place that counted so far. Without any setting the budget is 0, as it is for JobSet. */
export function budgetOf(jobSet: JobSet, restarts: number): Budget {
  const annotation = jobSet.annotations[ANNOTATION.maxRestarts];
  const own = annotation === undefined ? undefined : readWholeNumber(annotation);
  return { max: own ?? jobSet.failurePolicy?.maxRestarts ?? 0, used: restarts + jobSet.restartsCountTowardsMax };
}

export function isSpent({ max, used }: Budget): boolean {
  return used >= max;
}
