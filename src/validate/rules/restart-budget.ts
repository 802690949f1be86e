import { annotationPath } from "../../api/admission.ts";
import { type BudgetSource, budgetText } from "../../api/budget.ts";
import { ANNOTATION } from "../../api/names.ts";
import { judged, notApplicable, type Problem, type Rule } from "../rule.ts";

export const restartBudget: Rule = {
  name: "restart-budget",
  describe:
    "No annotation and no setting puts the restart budget to 0. Otherwise it is at least what the plain JobSet " +
    "survives.",
  severity: "warning",
  scope: "opted-in",
  check(subject) {
    if (subject.protocol === "jobset") return notApplicable("JobSet counts the restarts, as without reprise");
    const { budget } = subject;
    if (budget === undefined) return notApplicable("not injected, so it has no budget");
    return judged(budget.max === 0 ? zeroProblems(budget.from) : [], budgetText(budget));
  },
};

const CONSEQUENCE = "the first failure fails the JobSet, and nothing restarts in place";

/** None for the fields of the JobSet itself: without reprise it fails at the first failure as well. */
function zeroProblems(from: BudgetSource): Problem[] {
  switch (from) {
    case "annotation":
      return [{ path: annotationPath(ANNOTATION.maxRestarts), message: `is 0: ${CONSEQUENCE}; raise it` }];
    case "namespace":
      return [ofOthers(`${ANNOTATION.maxRestarts} of the Namespace`)];
    case "config":
      return [ofOthers("injection.defaultMaxRestarts of the webhook's config")];
    default:
      return [];
  }
}

/** Not set on the JobSet, so the user overrides it there. */
function ofOthers(source: string): Problem {
  return { path: "", message: `${source} is 0: ${CONSEQUENCE}; set ${ANNOTATION.maxRestarts} on the JobSet` };
}
