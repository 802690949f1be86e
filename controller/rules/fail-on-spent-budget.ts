// A group whose budget is recorded as spent, while its JobSet has not failed yet. Pure.
import { CONDITION, hasCondition } from "../status/conditions.ts";
import type { Context, Step } from "./rule.ts";
import { budgetFailure } from "./spend-budget.ts";

/** The status may be written without the JobSet being failed, for example when the controller is killed in between. */
export function failOnSpentBudget({ jobSet, status }: Context): Step | undefined {
  if (!hasCondition(status, CONDITION.budgetSpent)) return undefined;
  return { status, notices: [], failure: budgetFailure(jobSet, status) };
}
