import { annotationPath } from "../../api/admission.ts";
import { ANNOTATION } from "../../api/names.ts";
import { isAbsent } from "../../json/edit.ts";
import { judged, notApplicable, type Rule } from "../rule.ts";

/** Annotations that only the reprise controller reads. It does not reconcile these JobSets. */
const OURS: readonly string[] = [
  ANNOTATION.maxRestarts,
  ANNOTATION.escalateAfter,
  ANNOTATION.onPartialSuccess,
  ANNOTATION.restartRequest,
  ANNOTATION.hangAfter,
  ANNOTATION.onHang,
  ANNOTATION.startDeadline,
  ANNOTATION.progressFile,
  ANNOTATION.hangDetection,
];

export const upstreamProtocol: Rule = {
  name: "upstream-protocol",
  describe:
    "With `restartStrategy: InPlaceRestart` JobSet's own controller counts the restarts, and annotations for the " +
    "reprise controller have no effect.",
  severity: "warning",
  scope: "opted-in",
  check({ annotations, protocol }) {
    if (protocol !== "jobset") return notApplicable("the JobSet does not use restartStrategy InPlaceRestart");
    const message =
      "has no effect with restartStrategy InPlaceRestart, where JobSet itself counts restarts; use " +
      "spec.failurePolicy.maxRestarts, or another restartStrategy";
    const idle = OURS.filter((key) => !isAbsent(annotations[key]));
    return judged(
      idle.map((key) => ({ path: annotationPath(key), message })),
      "every annotation has an effect",
    );
  },
};
