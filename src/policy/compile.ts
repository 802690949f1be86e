// Compiles exit-code classes into the rules of Kubernetes and JobSet. Pure.
// The rules of a stored JobSet are recognized by comparison with these. They must not change: a release that compiles a
// class differently would get "field is immutable" on every live JobSet.
import { asMap } from "../json/fields.ts";
import type { Json, JsonObject } from "../json/types.ts";
import { FAILURE_CODES, podFailureRuleFor } from "./exit-actions.ts";
import type { ExitCodePolicy } from "./exit-codes.ts";

/** Limits of the API: rules per container, rules per podFailurePolicy. */
export const MAX_RESTART_RULES = 20;
export const MAX_POD_FAILURE_RULES = 20;

/** JobSet requires ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$, which has no dash. */
export const FAIL_JOB_SET_RULE = "repriseFailExitCodes";

/**
 * The code that still restarts in place if the user's rules fail the Job on every code: an empty list is not stored. No
 * shell, runtime or signal uses this one.
 */
export const LAST_CODE = 254;

/**
 * The rule of a worker: every failure restarts the Pod in place, except for the codes of a class and those on which the
 * user's podFailurePolicy fails the Job. For these the container's restartPolicy Never applies: the container stays
 * down and its Pod fails. The Job controller then applies podFailurePolicy (fail) or replaces the Pod (recreate).
 */
export function workerRestartRule(policy: ExitCodePolicy, failJobCodes: readonly number[] = []): JsonObject {
  const down = new Set([...policy.fail, ...policy.recreate, ...failJobCodes]);
  const left = FAILURE_CODES.filter((code) => !down.has(code));
  // The shorter list of the two: `NotIn [42, 127]` in the user's rule is `In [42, 127]` here.
  if (left.length >= down.size) return restartAllUnless([0, ...down].sort((a, b) => a - b));
  return restartAll("In", left.length === 0 ? [LAST_CODE] : left);
}

/**
 * The rule of each worker by its name. `podFailureRules` are those of the Job: of the plain one or of the injected one,
 * where the rules for the fail class stand behind the user's and change nothing.
 */
export function workerRestartRules(
  policy: ExitCodePolicy,
  podFailureRules: readonly Json[],
  workers: readonly string[],
): ReadonlyMap<string, JsonObject> {
  const shared = workerRestartRule(policy);
  // The API stores no more rules than this. The bound limits the work on a hostile object.
  const rules = podFailureRules.slice(0, MAX_POD_FAILURE_RULES);
  return new Map(
    workers.map((name) => {
      const codes = failJobCodes(rules, name);
      return [name, codes.length === 0 ? shared : workerRestartRule(policy, codes)];
    }),
  );
}

/** The codes of a container on which a podFailurePolicy fails the Job. */
export function failJobCodes(podFailureRules: readonly Json[], container: string): readonly number[] {
  if (!podFailureRules.some((rule) => asMap(rule)["action"] === "FailJob")) return [];
  const ruleFor = podFailureRuleFor(podFailureRules, container);
  return FAILURE_CODES.filter((code) => ruleFor(code)?.action === "FailJob");
}

/**
 * The rule of the agent. An agent that restarts alone would move to the next epoch while its workers run the old one.
 */
export function agentRestartRule(): JsonObject {
  return restartAllUnless([0]);
}

function restartAllUnless(codes: number[]): JsonObject {
  return restartAll("NotIn", codes);
}

function restartAll(operator: "In" | "NotIn", codes: number[]): JsonObject {
  return { action: "RestartAllContainers", exitCodes: { operator, values: codes } };
}

/**
 * Rules for podFailurePolicy. Disruptions come first: a preempted worker may exit with a code of the fail class (137,
 * 143) although its program did not fail. Each rule names a worker, because an agent or another sidecar that is shut
 * down with the Pod has its own exit codes.
 */
export function podFailureRules(policy: ExitCodePolicy, workers: readonly string[]): JsonObject[] {
  const disruption: JsonObject = {
    action: "Ignore",
    onPodConditions: [{ type: "DisruptionTarget", status: "True" }],
  };
  if (policy.fail.length === 0) return [disruption];
  const failures = workers.map((containerName) => ({
    action: "FailJob",
    onExitCodes: { containerName, operator: "In", values: [...policy.fail] },
  }));
  return [disruption, ...failures];
}

/** Makes a failed Job fail its JobSet. Without it JobSet would recreate all Jobs and retry. */
export function failJobSetRule(targets: readonly string[]): JsonObject {
  return {
    name: FAIL_JOB_SET_RULE,
    action: "FailJobSet",
    onJobFailureReasons: ["PodFailurePolicy"],
    ...(targets.length === 0 ? {} : { targetReplicatedJobs: [...targets] }),
  };
}
