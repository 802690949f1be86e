// Removes an earlier injection. Needed when a user copies an injected JobSet (kubectl get -o yaml) and changes its
// annotations: the rules of the old inputs would come before the new ones. Pure.

import { AGENT, ANNOTATION, LABEL } from "../../api/names.ts";
import {
  isObject,
  listAt,
  mapShared,
  objectAt,
  textAt,
  withList,
  withObject,
  withoutField,
  withoutItems,
} from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import type { Additions } from "../additions.ts";
import { withoutFailJobSetRule } from "../parts/failure-policy.ts";
import { DEFAULT_CONTAINER } from "../parts/pod.ts";
import { withoutProgress } from "../parts/progress.ts";
import { changeJob, changePod } from "../parts/template.ts";
import { isAgentName } from "../parts/user-containers.ts";
import { readBackAdditions } from "./read-back.ts";
import { type InjectionRecord, recordedInputs } from "./record.ts";

/**
 * The spec without what the recorded injection added. Fields that every injection sets to the same value stay, such as
 * a restartPolicy or terminationMessagePolicy: the user's original values are not known.
 */
export function uninject(spec: JsonObject, record: InjectionRecord): JsonObject {
  const inputs = recordedInputs(record);
  const templates = withList(spec, "replicatedJobs", (jobs) =>
    mapShared(jobs, (job) => {
      const additions = readBackAdditions(job, inputs, record.imagePullSecrets);
      return additions === undefined || !isObject(job) ? job : withoutAdditions(job, additions);
    }),
  );
  return withoutFailJobSetRule(templates);
}

function withoutAdditions(replicatedJob: JsonObject, additions: Additions): JsonObject {
  return changeJob(replicatedJob, (job) => {
    const policy = withObject(job, "podFailurePolicy", (written) =>
      withList(written, "rules", without(additions.podFailureRules)),
    );
    const emptied = policy !== job && listAt(objectAt(policy, "podFailurePolicy"), "rules").length === 0;
    return changePod(emptied ? withoutField(policy, "podFailurePolicy") : policy, (pod) =>
      withObject(withoutInjectionMetadata(pod, additions), "spec", (podSpec) => withoutParts(podSpec, additions)),
    );
  });
}

function withoutInjectionMetadata(pod: JsonObject, additions: Additions): JsonObject {
  return withObject(pod, "metadata", (metadata) => {
    const unlabeled = withObject(metadata, "labels", (labels) => withoutField(labels, LABEL.injected));
    return withObject(unlabeled, "annotations", (written) =>
      [DEFAULT_CONTAINER, ANNOTATION.safeToForcefullyDelete]
        .filter((key) => Object.hasOwn(additions.pod.annotations, key))
        .reduce(withoutField, written),
    );
  });
}

function withoutParts(podSpec: JsonObject, additions: Additions): JsonObject {
  const { rules } = additions.workers;
  const lists: readonly [string, (list: readonly Json[]) => readonly Json[]][] = [
    ["initContainers", (list) => withoutItems(list, (item) => isObject(item) && isAgentName(item["name"]))],
    ["volumes", (list) => withoutItems(list, (item) => isNamed(item, AGENT.tokenVolume))],
    ["tolerations", without(additions.tolerations)],
    [
      "containers",
      (list) =>
        mapShared(list, (container) => {
          const rule = isObject(container) ? rules.get(textAt(container, "name") ?? "") : undefined;
          if (!isObject(container) || rule === undefined) return container;
          return withList(container, "restartPolicyRules", without([rule]));
        }),
    ],
  ];
  const quiet = additions.progress === undefined ? podSpec : withoutProgress(podSpec, new Set(rules.keys()));
  return lists.reduce((spec, [key, change]) => withList(spec, key, change), quiet);
}

function without(unwanted: readonly JsonObject[]): (list: readonly Json[]) => readonly Json[] {
  return (list) => withoutItems(list, (item) => unwanted.some((own) => equivalent(own, item)));
}

function isNamed(item: Json, name: string): boolean {
  return isObject(item) && item["name"] === name;
}
