import { storedFailJobSetRule } from "../../inject/parts/failure-policy.ts";
import { jobPath } from "../../inject/parts/template.ts";
import { listAt, objectAt } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import { FAIL_JOB_SET_RULE, podFailureRules } from "../../policy/compile.ts";
import { CHANGED_AFTER_INJECTION, inJobSet } from "../integrity.ts";
import type { Problem, Rule } from "../rule.ts";
import type { Subject } from "../subject.ts";

export const failCodesCompiled: Rule = {
  name: "fail-codes-compiled",
  describe:
    "podFailurePolicy and failurePolicy contain the exit codes that fail the JobSet, and the exception for " +
    "disruptions, as the annotations define them.",
  severity: "error",
  scope: "opted-in",
  check: (subject) =>
    inJobSet(subject, "the failure policies match the annotations", inFailurePolicy, ({ index, template, workers }) => {
      const written = listAt(objectAt(template.job, "podFailurePolicy"), "rules");
      const wanted = podFailureRules(subject.inputs.policy, workers);
      if (wanted.every((rule) => written.some((present) => equivalent(present, rule)))) return [];
      const path = `${jobPath(index)}.podFailurePolicy.rules`;
      return [{ path, message: `does not have a rule that injection added: ${CHANGED_AFTER_INJECTION}` }];
    }),
};

function inFailurePolicy({ inputs, spec }: Subject): Problem[] {
  if (inputs.policy.fail.length === 0 || storedFailJobSetRule(spec) !== undefined) return [];
  return [
    { path: "spec.failurePolicy.rules", message: `does not have "${FAIL_JOB_SET_RULE}": ${CHANGED_AFTER_INJECTION}` },
  ];
}
