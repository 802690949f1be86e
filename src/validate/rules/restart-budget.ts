import { ANNOTATION } from "../../api/names.ts";
import { readWholeNumber } from "../../api/whole-number.ts";
import { isAbsent, objectAt, textAt } from "../../json/edit.ts";
import { annotationPath } from "../annotation.ts";
import { judged, type Problem, type Rule } from "../rule.ts";
import type { Subject } from "../subject.ts";

export const restartBudget: Rule = {
  name: "restart-budget",
  describe:
    "The budget of restarts is above 0: `reprise.dev/max-restarts`, else `failurePolicy.maxRestarts`, which is 0 where neither is set.",
  severity: "warning",
  scope: "opted-in",
  check(subject) {
    const problem = budgetProblem(subject);
    return judged(problem === undefined ? [] : [problem], "the group may restart");
  },
};

const CONSEQUENCE = "the first failure fails the JobSet and nothing restarts in place";

/** Upstream's own protocol knows nothing of our annotation. */
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
