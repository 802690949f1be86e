import { annotated, describeRule, intact, plain } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { injected } from "./injected.ts";

describeRule(injected, {
  accepts: ["an intact injected JobSet", intact],
  reports: [
    "a JobSet that opted in and has no agent",
    plain().build(),
    "spec.replicatedJobs",
    /opted in but not injected/,
  ],
  ignores: ["a JobSet that injection rejects", annotated(ANNOTATION.failExitCodes, "0")],
});
