import { storedFailJobSetRule } from "../../inject/parts/failure-policy.ts";
import { jobPath } from "../../inject/parts/template.ts";
import { listAt, objectAt } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import { FAIL_JOB_SET_RULE, podFailureRules } from "../../policy/compile.ts";
import { FIND_THE_WEBHOOK, inJobSet } from "../integrity.ts";
import type { Problem, Rule } from "../rule.ts";
import type { Subject } from "../subject.ts";

export const failCodesCompiled: Rule = {
  name: "fail-codes-compiled",
  describe:
    "The exit codes that fail the JobSet, and the exception for disruptions, are in podFailurePolicy and failurePolicy as the annotations say.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inJobSet(
      subject,
      "the failure policies say what the annotations say",
      inFailurePolicy,
      ({ index, template, workers }) => {
        const written = listAt(objectAt(template.job, "podFailurePolicy"), "rules");
        const wanted = podFailureRules(subject.inputs.policy, workers);
        if (wanted.every((rule) => written.some((present) => equivalent(present, rule)))) return [];
        const path = `${jobPath(index)}.podFailurePolicy.rules`;
        return [{ path, message: `lack a rule that injection added: ${FIND_THE_WEBHOOK}` }];
      },
    ),
};

function inFailurePolicy({ inputs, spec }: Subject): Problem[] {
  if (inputs.policy.fail.length === 0 || storedFailJobSetRule(spec) !== undefined) return [];
  return [{ path: "spec.failurePolicy.rules", message: `lack "${FAIL_JOB_SET_RULE}": ${FIND_THE_WEBHOOK}` }];
}
