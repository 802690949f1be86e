import { ANNOTATION } from "../../api/names.ts";
import { isAbsent } from "../../json/edit.ts";
import { annotationPath } from "../annotation.ts";
import { judged, notApplicable, type Rule } from "../rule.ts";

/** Read by our controller, which leaves these JobSets to JobSet's own. */
const OURS: readonly string[] = [ANNOTATION.maxRestarts, ANNOTATION.escalateAfter, ANNOTATION.onPartialSuccess];

export const upstreamProtocol: Rule = {
  name: "upstream-protocol",
  describe:
    "With `restartStrategy: InPlaceRestart` JobSet's own controller counts the restarts, and annotations for ours have no effect.",
  severity: "warning",
  scope: "opted-in",
  check({ annotations, protocol }) {
    if (protocol !== "jobset") return notApplicable("the JobSet restarts by the epoch protocol");
    const message =
      "has no effect with restartStrategy InPlaceRestart, where JobSet itself counts; use " +
      "spec.failurePolicy.maxRestarts, or another restartStrategy";
    const idle = OURS.filter((key) => !isAbsent(annotations[key]));
    return judged(
      idle.map((key) => ({ path: annotationPath(key), message })),
      "no annotation is without effect",
    );
  },
};
