// Whether a replicatedJob can restart in place. Pure.
import { podFailureRules, workerRestartRules } from "../policy/compile.ts";
import type { Inputs } from "./inputs.ts";
import { checkAgentName } from "./parts/agent.ts";
import { checkPodFailureRules, checkSlots, checkSuccessPolicy, jobFailureRules } from "./parts/job.ts";
import { checkOperatingSystem } from "./parts/pod.ts";
import { checkProgressVolumeName } from "./parts/progress.ts";
import type { Template } from "./parts/template.ts";
import { checkVolumeName } from "./parts/token.ts";
import type { Unsupported } from "./parts/unsupported.ts";
import { checkRestartRules } from "./parts/workers.ts";

/** The first reason for which the replicatedJob at this position cannot restart in place. */
export function unsupportedBy(
  { job, podSpec }: Template,
  index: number,
  workers: readonly string[],
  { policy }: Inputs,
): Unsupported | undefined {
  const rules = workerRestartRules(policy, jobFailureRules(job), workers);
  return (
    checkAgentName(podSpec, index) ??
    checkVolumeName(podSpec, index) ??
    checkProgressVolumeName(podSpec, index) ??
    checkOperatingSystem(podSpec, index) ??
    checkSlots(job, index) ??
    checkSuccessPolicy(job, index) ??
    checkPodFailureRules(job, index, podFailureRules(policy, workers)) ??
    checkRestartRules(podSpec, index, (worker) => rules.get(worker))
  );
}
