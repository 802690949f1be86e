// Compiles exit-code classes into the rules of Kubernetes and JobSet. Pure.
// The rules of a stored JobSet are recognized by comparison with these. They must not change: a release that compiles a
// class differently would get "field is immutable" on every live JobSet.
import type { JsonObject } from "../json/types.ts";
import type { ExitCodePolicy } from "./exit-codes.ts";

/** Limits of the API: rules per container, rules per podFailurePolicy. */
export const MAX_RESTART_RULES = 20;
export const MAX_POD_FAILURE_RULES = 20;

/** JobSet requires ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$, which has no dash. */
export const FAIL_JOB_SET_RULE = "repriseFailExitCodes";

/**
 * The rule of a worker: every failure restarts the Pod in place, except for the codes of a class. For these the
 * container's restartPolicy Never applies: the container stays down and its Pod fails. The Job controller then applies
 * podFailurePolicy (fail) or replaces the Pod (recreate).
 */
export function workerRestartRule(policy: ExitCodePolicy): JsonObject {
  return restartAllUnless([0, ...policy.fail, ...policy.recreate].sort((a, b) => a - b));
}

/**
 * The rule of the agent. An agent that restarts alone would move to the next epoch while its workers run the old one.
 */
export function agentRestartRule(): JsonObject {
  return restartAllUnless([0]);
}

function restartAllUnless(codes: number[]): JsonObject {
  return { action: "RestartAllContainers", exitCodes: { operator: "NotIn", values: codes } };
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
