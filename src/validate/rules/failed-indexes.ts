import { jobPath } from "../../inject/parts/template.ts";
import { isAbsent } from "../../json/edit.ts";
import { once } from "../once.ts";
import { judged, type Rule } from "../rule.ts";

export const failedIndexes: Rule = {
  name: "failed-indexes",
  describe:
    "No participating Job has `maxFailedIndexes`: an index no longer fails by itself, its whole group restarts.",
  severity: "warning",
  scope: "opted-in",
  check: ({ participants }) =>
    judged(
      once(
        participants.flatMap(({ index, template: { job } }) => {
          if (isAbsent(job["maxFailedIndexes"])) return [];
          const message =
            "has no effect: a failed worker restarts its group in place, and failures count against " +
            "reprise.dev/max-restarts; remove it";
          return [{ path: `${jobPath(index)}.maxFailedIndexes`, message }];
        }),
      ),
      "no Job tolerates failed indexes",
    ),
};
