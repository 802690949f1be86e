// What Kubernetes does when a container exits. The kubelet asks restartPolicyRules (KEP-5307), and the Job controller
// asks podFailurePolicy about a failed Pod. In both the first rule that matches decides. Pure.
import { asList, asMap, asText } from "../json/fields.ts";

/** Every exit code except 0. */
export const FAILURE_CODES: readonly number[] = Array.from({ length: 255 }, (_, index) => index + 1);

type ExitActions = (code: number) => string | undefined;

/** The action for each code. Undefined where no rule matches and restartPolicy decides. */
export function exitActions(restartPolicyRules: readonly unknown[]): ExitActions {
  const rules = restartPolicyRules.map(asMap).map((rule) => ({
    action: asText(rule["action"]),
    matches: codeMatcher(rule["exitCodes"]),
  }));
  return (code) => rules.find(({ matches }) => matches(code))?.action;
}

interface PodFailureRule {
  readonly action: string | undefined;
  /** Position in the policy. */
  readonly index: number;
}

/** The first rule of a podFailurePolicy that matches an exit code of the container. */
export function podFailureRuleFor(
  rules: readonly unknown[],
  container: string | undefined,
): (code: number) => PodFailureRule | undefined {
  const own = rules.map(asMap).flatMap(({ action, onExitCodes }, index) => {
    const name = asMap(onExitCodes)["containerName"] ?? container;
    return name === container ? [{ action: asText(action), index, matches: codeMatcher(onExitCodes) }] : [];
  });
  return (code) => own.find(({ matches }) => matches(code));
}

/** Matches the codes of `exitCodes` or `onExitCodes`. Without an operator neither matches anything. */
export function codeMatcher(requirement: unknown): (code: number) => boolean {
  const { operator, values } = asMap(requirement);
  const named = new Set(asList(values));
  if (operator === "In") return (code) => named.has(code);
  if (operator === "NotIn") return (code) => !named.has(code);
  return () => false;
}
