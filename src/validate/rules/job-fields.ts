import { newJobFields } from "../../inject/parts/job.ts";
import { jobPath } from "../../inject/parts/template.ts";
import { isAbsent } from "../../json/edit.ts";
import { brief, FIND_THE_WEBHOOK, inParticipants } from "../integrity.ts";
import type { Rule } from "../rule.ts";

export const jobFields: Rule = {
  name: "job-fields",
  describe:
    "Participating Jobs have `backoffLimit` and `backoffLimitPerIndex` 2147483647, `completionMode: Indexed`, `podReplacementPolicy: Failed`, and both `completions` and `parallelism`: the JobSet's budget counts failures, and each Pod has a slot of its own.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inParticipants(subject, "the Jobs leave failures to the group", ({ index, template: { job } }) => {
      const changed = Object.entries(newJobFields()).filter(([field, value]) => job[field] !== value);
      const missing = ["completions", "parallelism"].filter((field) => isAbsent(job[field]));
      return [
        ...changed.map(([field, value]) => ({
          path: `${jobPath(index)}.${field}`,
          message: `is ${brief(job[field])} and not ${brief(value)}, without which the group cannot restart in place: ${FIND_THE_WEBHOOK}`,
        })),
        ...missing.map((field) => ({
          path: `${jobPath(index)}.${field}`,
          message: `is not set, and the size of the group is not known: ${FIND_THE_WEBHOOK}`,
        })),
      ];
    }),
};
