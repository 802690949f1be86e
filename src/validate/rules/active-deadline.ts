import { jobPath, podPath } from "../../inject/parts/template.ts";
import type { Json } from "../../json/types.ts";
import { once } from "../once.ts";
import { judged, type Problem, type Rule } from "../rule.ts";

const FIELD = "activeDeadlineSeconds";

export const activeDeadline: Rule = {
  name: "active-deadline",
  describe:
    "No participating Job or Pod has `activeDeadlineSeconds`: Job and Pod live on through restarts in place, so the " +
    "time of all attempts together counts.",
  severity: "warning",
  scope: "opted-in",
  check: ({ participants }) =>
    judged(
      once(
        participants.flatMap(({ index, template: { job, podSpec } }) => [
          ...problemOf(job[FIELD], jobPath(index)),
          ...problemOf(podSpec[FIELD], podPath(index)),
        ]),
      ),
      "no Job or Pod has a deadline",
    ),
};

function problemOf(written: Json | undefined, path: string): Problem[] {
  if (typeof written !== "number") return [];
  const message = `the ${written} s now span all restarts in place, not one attempt; raise it if attempts take long`;
  return [{ path: `${path}.${FIELD}`, message }];
}
