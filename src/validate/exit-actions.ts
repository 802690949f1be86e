// What the kubelet does when a container exits: the first of its rules that matches the code decides (KEP-5307). Pure.
import type { Json } from "../api/admission.ts";
import { isObject, listAt, objectAt, textAt } from "../inject/json.ts";

/** Every exit code that is a failure. */
export const FAILURE_CODES: readonly number[] = Array.from({ length: 255 }, (_, index) => index + 1);

export type ExitActions = (code: number) => string | undefined;

/** The action for each code under these restartPolicyRules; undefined where none matches and restartPolicy decides. */
export function exitActions(restartPolicyRules: readonly Json[]): ExitActions {
  const rules = restartPolicyRules.filter(isObject).map((rule) => ({
    action: textAt(rule, "action"),
    matches: codeMatcher(objectAt(rule, "exitCodes")),
  }));
  return (code) => rules.find(({ matches }) => matches(code))?.action;
}

/** The codes of an `exitCodes` or `onExitCodes`: both have an operator and values, and neither matches without. */
export function codeMatcher(requirement: { readonly [key: string]: Json } | undefined): (code: number) => boolean {
  const values = new Set(listAt(requirement, "values"));
  const operator = requirement?.["operator"];
  if (operator === "In") return (code) => values.has(code);
  if (operator === "NotIn") return (code) => !values.has(code);
  return () => false;
}
