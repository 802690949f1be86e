import { POD_SPEC } from "../../../test/builders/injection.ts";
import { broken, describeRule, intact, NOT_INJECTED, podPath } from "../../../test/builders/rule-examples.ts";
import { podRestartPolicy } from "./pod-restart-policy.ts";

describeRule(podRestartPolicy, {
  accepts: ["an intact injected JobSet", intact],
  reports: [
    "restartPolicy OnFailure",
    broken([...POD_SPEC, "restartPolicy"], "OnFailure"),
    `${podPath}.restartPolicy`,
    /is "OnFailure" and not "Never"/,
  ],
  ignores: NOT_INJECTED,
});
