import { describeRule, jobPath, plain, SKIPPED } from "../../../test/builders/rule-examples.ts";
import { failedIndexes } from "./failed-indexes.ts";

describeRule(failedIndexes, {
  accepts: ["a Job without maxFailedIndexes", plain().build()],
  reports: [
    "maxFailedIndexes",
    plain({ pods: 2, job: { backoffLimitPerIndex: 1, maxFailedIndexes: 1 } }).build(),
    `${jobPath}.maxFailedIndexes`,
    /has no effect/,
  ],
  ignores: SKIPPED,
});
