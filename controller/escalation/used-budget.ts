// How many group restarts a JobSet may have, and how many it has had. Pure.
import { type Budget, budgetInForce, budgetText, sourceText } from "../../src/api/budget.ts";
import type { JobSet } from "../../src/api/jobset.ts";

interface UsedBudget extends Budget {
  /** Counted restarts in place, and recreations that JobSet counted itself. */
  readonly used: number;
}

/** `restarts`: the counted restarts in place so far. */
export function budgetOf(jobSet: JobSet, restarts: number): UsedBudget {
  return { ...budgetInForce(jobSet), used: restarts + jobSet.restartsCountTowardsMax };
}

export function isSpent({ max, used }: UsedBudget): boolean {
  return used >= max;
}

/** Which restart the next one is. The first one says where the budget comes from, so that users can correct it. */
export function describeRestart(budget: UsedBudget): string {
  if (isSpent(budget))
    return `${describeSpent(budget)}, so the JobSet fails unless a disruption turns out to be the cause`;
  const { max, used, from } = budget;
  return `restart ${used + 1} of ${max}${used === 0 ? ` (${sourceText(from)})` : ""}`;
}

export function describeSpent(budget: Budget): string {
  return `the budget of ${budgetText(budget)} is spent`;
}
