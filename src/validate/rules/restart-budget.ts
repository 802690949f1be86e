import { annotationPath } from "../../api/admission.ts";
import { type BudgetSource, budgetText } from "../../api/budget.ts";
import { ANNOTATION } from "../../api/names.ts";
import { isAbsent, objectAt } from "../../json/edit.ts";
import { judged, notApplicable, type Problem, type Rule } from "../rule.ts";
import type { Subject } from "../subject.ts";

export const restartBudget: Rule = {
  name: "restart-budget",
  describe:
    "The restart budget is above 0. It is at least what the plain JobSet survives, so it is 0 only if somebody says " +
    "so.",
  severity: "warning",
  scope: "opted-in",
  check(subject) {
    if (subject.protocol === "jobset") return judged(upstreamProblems(subject), "failurePolicy.maxRestarts is above 0");
    const { budget } = subject;
    if (budget === undefined) return notApplicable("not injected, so it has no budget");
    return judged(budget.max === 0 ? [zeroProblem(budget.from)] : [], budgetText(budget));
  },
};

const CONSEQUENCE = "the first failure fails the JobSet, and nothing restarts in place";
const MAX_RESTARTS = "spec.failurePolicy.maxRestarts";

function zeroProblem(from: BudgetSource): Problem {
  switch (from) {
    case "annotation":
      return { path: annotationPath(ANNOTATION.maxRestarts), message: `is 0: ${CONSEQUENCE}; raise it` };
    case "namespace":
      return ofOthers(`${ANNOTATION.maxRestarts} of the Namespace`);
    case "config":
      return ofOthers("injection.defaultMaxRestarts of the webhook's config");
    default:
      return {
        path: MAX_RESTARTS,
        message:
          `is 0 or not set, and a Job has backoffLimit 0: ${CONSEQUENCE}; raise one of them, or set ` +
          ANNOTATION.maxRestarts,
      };
  }
}

/** Set by somebody else, so the user overrides it. */
function ofOthers(source: string): Problem {
  return { path: "", message: `${source} is 0: ${CONSEQUENCE}; set ${ANNOTATION.maxRestarts} on the JobSet` };
}

/** JobSet's own controller counts, and reads nothing else. */
function upstreamProblems({ spec }: Subject): Problem[] {
  const written = objectAt(spec, "failurePolicy")?.["maxRestarts"];
  if (!isAbsent(written) && written !== 0) return [];
  const found = isAbsent(written) ? "is not set, which means 0" : "is 0";
  return [{ path: MAX_RESTARTS, message: `${found}: ${CONSEQUENCE}; raise it` }];
}
