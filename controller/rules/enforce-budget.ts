// A restart beyond the budget whose cause was not certain when the epoch ended, for example a deletion. Pure.
import { budgetOf, isSpent } from "../escalation/budget.ts";
import { changeAction, describeCause, openRecord } from "../status/history.ts";
import { isEveryPodBack } from "./barrier.ts";
import type { Context, Step } from "./rule.ts";
import { failOverBudget } from "./spend-budget.ts";

export function enforceBudget(context: Context): Step | undefined {
  const { jobSet, status, now, rule } = context;
  const record = openRecord(status);
  if (record?.counted !== true || !isSpent(budgetOf(jobSet, status.restarts)) || !isEveryPodBack(context))
    return undefined;
  const failed = changeAction(status, { action: "FailJobSet", rule });
  return failOverBudget(jobSet, failed, describeCause(record.cause), now);
}
