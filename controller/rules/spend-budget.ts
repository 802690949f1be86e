// The step that fails the JobSet because the budget is spent, for every rule that may find it spent. Pure.
import type { JobSet } from "../../src/api/jobset.ts";
import { budgetOf, describeSpent } from "../escalation/used-budget.ts";
import { CONDITION, withCondition } from "../status/conditions.ts";
import type { Failure, Status, Step } from "./rule.ts";

export function failOverBudget(jobSet: JobSet, status: Status, cause: string, now: number): Step {
  const failure = budgetFailure(jobSet, status);
  const spent = { type: CONDITION.budgetSpent, status: true, ...failure };
  return {
    status: { ...status, conditions: withCondition(status.conditions, spent, now) },
    notices: [{ type: "Warning", reason: failure.reason, action: "Fail", note: `${cause}; ${failure.message}` }],
    failure,
  };
}

export function budgetFailure(jobSet: JobSet, status: Status): Failure {
  return { reason: "ReachedMaxRestarts", message: describeSpent(budgetOf(jobSet, status.restarts)) };
}
