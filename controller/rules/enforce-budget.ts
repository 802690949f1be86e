// A restart beyond the budget: it fails the JobSet when the cause is known. Until then a suspension, or a node that was
// lost, may turn out to have caused it. Pure.
import { budgetOf, isSpent } from "../escalation/used-budget.ts";
import { changeAction, describeCause, openRecord } from "../status/history.ts";
import { isEverySlotAccountedFor } from "./accounted-for.ts";
import type { Context, Step } from "./rule.ts";
import { failOverBudget } from "./spend-budget.ts";

export function enforceBudget(context: Context): Step | undefined {
  const { jobSet, status, now, rule } = context;
  const record = openRecord(status);
  if (record?.counted !== true || !isSpent(budgetOf(jobSet, status.restarts)) || !isEverySlotAccountedFor(context))
    return undefined;
  const failed = changeAction(status, { action: "FailJobSet", rule });
  return failOverBudget(jobSet, failed, describeCause(record.cause), now);
}
