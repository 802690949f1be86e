import { annotationPath } from "../../api/admission.ts";
import { ANNOTATION } from "../../api/names.ts";
import { readWholeNumber } from "../../api/whole-number.ts";
import { isAbsent, objectAt, textAt } from "../../json/edit.ts";
import { judged, type Problem, type Rule } from "../rule.ts";
import type { Subject } from "../subject.ts";

export const restartBudget: Rule = {
  name: "restart-budget",
  describe:
    "The restart budget is above 0. It is `reprise.dev/max-restarts`, or else `failurePolicy.maxRestarts`, which " +
    "defaults to 0.",
  severity: "warning",
  scope: "opted-in",
  check(subject) {
    const problem = budgetProblem(subject);
    return judged(problem === undefined ? [] : [problem], "the budget is above 0");
  },
};

const CONSEQUENCE = "the first failure fails the JobSet, and nothing restarts in place";

/** JobSet's own protocol does not read the annotation. */
function budgetProblem({ annotations, protocol, spec }: Subject): Problem | undefined {
  const text = protocol === "epoch" ? textAt(annotations, ANNOTATION.maxRestarts) : undefined;
  if (text !== undefined) {
    return readWholeNumber(text) === 0
      ? { path: annotationPath(ANNOTATION.maxRestarts), message: `is 0: ${CONSEQUENCE}; raise it` }
      : undefined;
  }
  const path = "spec.failurePolicy.maxRestarts";
  const written = objectAt(spec, "failurePolicy")?.["maxRestarts"];
  if (!isAbsent(written)) {
    return written === 0 ? { path, message: `is 0: ${CONSEQUENCE}; raise it` } : undefined;
  }
  const alternative = protocol === "epoch" ? `, or ${ANNOTATION.maxRestarts}` : "";
  return { path, message: `is not set, which means 0: ${CONSEQUENCE}; set it${alternative}` };
}
