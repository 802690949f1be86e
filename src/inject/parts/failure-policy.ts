// The JobSet's failurePolicy: the rule that makes a failed Job fail the JobSet at once. Pure.
import type { Finding } from "../../api/admission.ts";
import {
  isAbsent,
  listAt,
  named,
  objectAt,
  withList,
  withObject,
  withoutField,
  withoutItems,
} from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { JsonObject } from "../../json/types.ts";
import { FAIL_JOB_SET_RULE, failJobSetRule } from "../../policy/compile.ts";

/** The default of the API, written out: the stored policy and the one that is applied again must be equal. */
const DEFAULT_STRATEGY = "Recreate";

export function withFailJobSetRule(spec: JsonObject, rule: JsonObject): JsonObject {
  const policy: JsonObject = isAbsent(spec["failurePolicy"])
    ? { ...spec, failurePolicy: { restartStrategy: DEFAULT_STRATEGY } }
    : spec;
  return withObject(policy, "failurePolicy", (written) =>
    withList(written, "rules", (rules) => {
      const present = named(rules, FAIL_JOB_SET_RULE);
      if (present === undefined) return [...rules, rule];
      return equivalent(present, rule) ? rules : rules.map((item) => (item === present ? rule : item));
    }),
  );
}

export function storedFailJobSetRule(spec: JsonObject): JsonObject | undefined {
  return named(listAt(objectAt(spec, "failurePolicy"), "rules"), FAIL_JOB_SET_RULE);
}

export function withoutFailJobSetRule(spec: JsonObject): JsonObject {
  const rule = storedFailJobSetRule(spec);
  if (rule === undefined) return spec;
  const changed = withObject(spec, "failurePolicy", (policy) =>
    withList(policy, "rules", (rules) => withoutItems(rules, (item) => item === rule)),
  );
  const left = objectAt(changed, "failurePolicy");
  // Injection created the policy for the rule.
  return equivalent(left, { restartStrategy: DEFAULT_STRATEGY }) ? withoutField(changed, "failurePolicy") : changed;
}

/**
 * Finds a user's rule of that name. The injected rule is recognized by its action: a copied JobSet may lack the record.
 */
export function checkRuleName(spec: JsonObject): Finding | undefined {
  const rule = storedFailJobSetRule(spec);
  const { action, onJobFailureReasons } = failJobSetRule([]);
  const isOurs = rule?.["action"] === action && equivalent(rule?.["onJobFailureReasons"], onJobFailureReasons);
  if (rule === undefined || isOurs) return undefined;
  return {
    rule: "failure-policy-rule-name",
    path: "spec.failurePolicy.rules",
    message: `"${FAIL_JOB_SET_RULE}" is reserved for the rule that injection adds; rename your rule`,
  };
}
