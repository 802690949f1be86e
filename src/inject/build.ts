// Builds the additions of a new JobSet from the settings and its annotations. Pure. Parts that are equal in many
// replicatedJobs are built once and shared: a JobSet may have ten thousand of them.

import { ANNOTATION, LABEL } from "../api/names.ts";
import type { JsonObject } from "../json/types.ts";
import { podFailureRules, workerRestartRules } from "../policy/compile.ts";
import type { Additions } from "./additions.ts";
import type { Participant } from "./participation.ts";
import { type AgentContext, agentFacts, buildAgent, findAgent, rebuildAgent } from "./parts/agent.ts";
import { jobFailureRules, newJobFields } from "./parts/job.ts";
import { DEFAULT_CONTAINER } from "./parts/pod.ts";
import { progressAdditions } from "./parts/progress.ts";
import { containersToRetry } from "./parts/retries.ts";
import { tokenVolume } from "./parts/token.ts";
import { nodeLossTolerations } from "./parts/tolerations.ts";

/** `groupSize` is the number of Pods of all participants. */
export function additionsBuilder(context: AgentContext, groupSize: number): (participant: Participant) => Additions {
  const { inputs, settings } = context;
  const agents = new Map<string, JsonObject>();
  const consent = inputs.safeToForcefullyDelete;
  const consented = consent === undefined ? {} : { [ANNOTATION.safeToForcefullyDelete]: consent };
  const shared = {
    jobFields: newJobFields(),
    tokenVolume: tokenVolume(),
    labels: { [LABEL.injected]: "true" },
    tolerations: nodeLossTolerations(inputs.nodeLossGraceSeconds),
    progress: progressAdditions(),
  };

  return ({ template, workers }) => {
    const names = new Set(workers);
    const containers = template.containers.filter(({ name }) => typeof name === "string" && names.has(name));
    const facts = agentFacts(template, containers, context);
    const key = JSON.stringify(facts);
    const agent = agents.get(key) ?? buildAgent(facts, { ...context, groupSize });
    agents.set(key, agent);
    return {
      agent: rebuildAgent(findAgent(template.podSpec), agent),
      jobFields: shared.jobFields,
      podFailureRules: podFailureRules(inputs.policy, workers),
      pod: {
        tokenVolume: shared.tokenVolume,
        pullSecrets: settings.imagePullSecrets,
        labels: shared.labels,
        annotations: { [DEFAULT_CONTAINER]: workers[0] ?? "", ...consented },
      },
      workers: {
        rules: workerRestartRules(inputs.policy, jobFailureRules(template.job), workers),
        logsAsMessage: names,
      },
      retried: containersToRetry(template.podSpec, names),
      tolerations: shared.tolerations,
      progress: facts.progress.kind === "volume" ? shared.progress : undefined,
    };
  };
}
