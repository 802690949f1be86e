// Reads the additions of a stored JobSet back from it, so that an update adds exactly the same again, whichever release
// and config injected them. Pure.

import { AGENT, ANNOTATION, LABEL } from "../../api/names.ts";
import { isObject, listAt, named, objectAt, textAt } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { MAX_POD_FAILURE_RULES, podFailureRules, workerRestartRules } from "../../policy/compile.ts";
import type { Additions } from "../additions.ts";
import type { Inputs } from "../inputs.ts";
import { findAgent } from "../parts/agent.ts";
import { jobFailureRules, storedJobFields } from "../parts/job.ts";
import { DEFAULT_CONTAINER } from "../parts/pod.ts";
import { storedProgress } from "../parts/progress.ts";
import { retriedContainers } from "../parts/retries.ts";
import { containerNames, readTemplate } from "../parts/template.ts";
import { tokenVolume } from "../parts/token.ts";
import { nodeLossTolerations } from "../parts/tolerations.ts";
import { hasMessagePolicy } from "../parts/workers.ts";

/** Returns undefined for a replicatedJob that was not injected. */
export function readBackAdditions(
  replicatedJob: Json,
  inputs: Inputs,
  pullSecrets: readonly string[],
): Additions | undefined {
  const template = readTemplate(replicatedJob);
  const agent = template === undefined ? undefined : findAgent(template.podSpec);
  if (template === undefined || agent === undefined) return undefined;
  if (inputs.replicatedJobs?.has(template.name) === false) return undefined;
  const { job, pod, podSpec, containers } = template;
  const failureRules = jobFailureRules(job);
  const rules = workerRestartRules(inputs.policy, failureRules, containerNames(template));
  // A container that is not a worker may have the same rule from its user.
  const workers = containers.filter((container) => {
    const name = textAt(container, "name") ?? "";
    const rule = rules.get(name);
    if (rule === undefined || inputs.workerContainers?.has(name) === false) return false;
    return has(listAt(container, "restartPolicyRules"), rule);
  });
  const names = workers.map((worker) => textAt(worker, "name") ?? "");
  const workerNames = new Set(names);
  const metadata = objectAt(pod, "metadata");
  const label = textAt(objectAt(metadata, "labels"), LABEL.injected);
  const secrets = listAt(podSpec, "imagePullSecrets").filter(isObject);
  return {
    agent,
    jobFields: storedJobFields(job),
    // The API stores no more than this. The bound keeps a hostile object from causing seconds of comparisons.
    podFailureRules: podFailureRules(inputs.policy, names.slice(0, MAX_POD_FAILURE_RULES)).filter((own) =>
      has(failureRules, own),
    ),
    pod: {
      tokenVolume: named(listAt(podSpec, "volumes"), AGENT.tokenVolume) ?? tokenVolume(),
      pullSecrets: pullSecrets.filter((name) => secrets.some((secret) => secret["name"] === name)),
      labels: label === undefined ? {} : { [LABEL.injected]: label },
      annotations: textsAt(objectAt(metadata, "annotations"), {
        // Only values that injection writes. Any other value is the user's, who may remove it.
        [DEFAULT_CONTAINER]: names[0],
        [ANNOTATION.safeToForcefullyDelete]: inputs.safeToForcefullyDelete,
      }),
    },
    workers: {
      rules: new Map([...rules].filter(([name]) => workerNames.has(name))),
      logsAsMessage: new Set(names.filter((_, index) => hasMessagePolicy(workers[index]))),
    },
    retried: retriedContainers(podSpec, workerNames),
    tolerations: nodeLossTolerations(inputs.nodeLossGraceSeconds).filter((own) =>
      has(listAt(podSpec, "tolerations"), own),
    ),
    progress: storedProgress(podSpec, workers),
  };
}

function has(list: readonly Json[], item: JsonObject): boolean {
  return list.some((present) => equivalent(present, item));
}

/** The expected entries that are present with exactly that value. */
function textsAt(
  map: JsonObject | undefined,
  expected: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const [key, value] of Object.entries(expected)) {
    if (value !== undefined && textAt(map, key) === value) texts[key] = value;
  }
  return texts;
}
