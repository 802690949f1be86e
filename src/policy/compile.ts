// Exit-code classes as the rules that Kubernetes and JobSet understand. Pure.
// A stored JobSet is recognised by comparing its rules with these: a release that compiles a class differently would
// meet "field is immutable" on every live JobSet, so the shapes here must not change.
import type { JsonObject } from "../json/types.ts";
import type { ExitCodePolicy } from "./exit-codes.ts";

/** Limits of the API: rules per container, rules per podFailurePolicy. */
export const MAX_RESTART_RULES = 20;
export const MAX_POD_FAILURE_RULES = 20;

/** JobSet wants ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$ here: no dash. */
export const FAIL_JOB_SET_RULE = "repriseFailExitCodes";

/**
 * The worker's rule: every failure restarts the Pod in place, but for the codes of a class. A code of a class matches
 * no rule of ours and meets the container's restartPolicy Never: the container stays down and its Pod fails. The Job
 * controller then looks at podFailurePolicy (fail) and else replaces the Pod (recreate).
 */
export function workerRestartRule(policy: ExitCodePolicy): JsonObject {
  return restartAllUnless([0, ...policy.fail, ...policy.recreate].sort((a, b) => a - b));
}

/** The agent's rule. An agent that restarted alone would move to the next epoch while its workers run the old one. */
export function agentRestartRule(): JsonObject {
  return restartAllUnless([0]);
}

function restartAllUnless(codes: number[]): JsonObject {
  return { action: "RestartAllContainers", exitCodes: { operator: "NotIn", values: codes } };
}

/**
 * Rules for podFailurePolicy. The disruption comes first: a preempted worker may well die with a code of the fail class
 * (137, 143), and that is not its program's verdict. Codes are matched per worker by name, because an agent or another
 * sidecar that is shut down with the Pod has exit codes of its own.
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

/** Makes the failed Job fail its JobSet; without it JobSet would recreate everything and try again. */
export function failJobSetRule(targets: readonly string[]): JsonObject {
  return {
    name: FAIL_JOB_SET_RULE,
    action: "FailJobSet",
    onJobFailureReasons: ["PodFailurePolicy"],
    ...(targets.length === 0 ? {} : { targetReplicatedJobs: [...targets] }),
  };
}
