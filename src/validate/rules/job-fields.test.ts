import { broken, describeRule, intact, jobPath, NOT_INJECTED } from "../../../test/builders/rule-examples.ts";
import { jobFields } from "./job-fields.ts";

const JOB = ["spec", "replicatedJobs", 0, "template", "spec"] as const;

describeRule(jobFields, {
  accepts: ["an intact injected JobSet", intact],
  reports: [
    "a backoffLimit of the Job",
    broken([...JOB, "backoffLimit"], 6),
    `${jobPath}.backoffLimit`,
    /is 6 and not 2147483647/,
  ],
  ignores: NOT_INJECTED,
});
