import { newJobFields } from "../../inject/parts/job.ts";
import { jobPath } from "../../inject/parts/template.ts";
import { brief } from "../../json/brief.ts";
import { isAbsent } from "../../json/edit.ts";
import { CHANGED_AFTER_INJECTION, inParticipants } from "../integrity.ts";
import type { Rule } from "../rule.ts";

export const jobFields: Rule = {
  name: "job-fields",
  describe:
    "Participating Jobs have `backoffLimit` and `backoffLimitPerIndex` 2147483647, `completionMode: Indexed`, " +
    "`podReplacementPolicy: Failed`, and both `completions` and `parallelism`: failures count against the budget of " +
    "the JobSet, and each Pod has its own slot.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inParticipants(subject, "the Jobs leave failures to the group", ({ index, template: { job } }) => {
      const changed = Object.entries(newJobFields()).filter(([field, value]) => job[field] !== value);
      const missing = ["completions", "parallelism"].filter((field) => isAbsent(job[field]));
      return [
        ...changed.map(([field, value]) => ({
          path: `${jobPath(index)}.${field}`,
          message:
            `is ${brief(job[field])} and not ${brief(value)}, so the group could not restart in place: ` +
            CHANGED_AFTER_INJECTION,
        })),
        ...missing.map((field) => ({
          path: `${jobPath(index)}.${field}`,
          message: `is not set, so the size of the group is unknown: ${CHANGED_AFTER_INJECTION}`,
        })),
      ];
    }),
};
