import { POD_SPEC } from "../../../test/builders/injection.ts";
import { broken, describeRule, intact, NOT_INJECTED, podPath } from "../../../test/builders/rule-examples.ts";
import { workerRules } from "./worker-rules.ts";

describeRule(workerRules, {
  accepts: ["an intact injected JobSet", intact],
  reports: [
    "a worker that lost its rule",
    broken([...POD_SPEC, "containers", 0, "restartPolicyRules"], []),
    `${podPath}.containers[0].restartPolicyRules`,
    /does not have the rule that restarts the Pod in place/,
  ],
  ignores: NOT_INJECTED,
});
