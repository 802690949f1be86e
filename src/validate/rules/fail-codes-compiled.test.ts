import { create, injected } from "../../../test/builders/injection.ts";
import { annotated, broken, describeRule, jobPath, NOT_INJECTED } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { failCodesCompiled } from "./fail-codes-compiled.ts";

const JOB = ["spec", "replicatedJobs", 0, "template", "spec"] as const;

describeRule(failCodesCompiled, {
  accepts: [
    "an intact JobSet with exit codes that fail it",
    injected(create(annotated(ANNOTATION.failExitCodes, "42"))),
  ],
  reports: [
    "a Job that lost its podFailurePolicy rules",
    broken([...JOB, "podFailurePolicy", "rules"], []),
    `${jobPath}.podFailurePolicy.rules`,
    /does not have a rule that injection added/,
  ],
  ignores: NOT_INJECTED,
});
