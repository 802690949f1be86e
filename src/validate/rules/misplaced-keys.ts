// Other injectors read labels and Pod templates. reprise reads only the annotations of the JobSet.

import { ANNOTATION, GROUP, LABEL } from "../../api/names.ts";
import { isObject, listAt, objectAt } from "../../json/edit.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { judged, type Problem, type Rule } from "../rule.ts";

/** Annotations that reprise reads or writes on a Pod. */
const ON_PODS: readonly string[] = [ANNOTATION.safeToForcefullyDelete];

export const misplacedKeys: Rule = {
  name: "misplaced-keys",
  describe:
    "`reprise.dev/*` keys are in the annotations of the JobSet, where reprise reads them, and not in labels or " +
    "templates.",
  severity: "warning",
  scope: "every-jobset",
  check({ object, spec }) {
    const labels = misplaced(objectAt(object, "metadata"), "labels", [LABEL.injected], "metadata");
    const templates = listAt(spec, "replicatedJobs").flatMap(inReplicatedJob);
    return judged([...labels, ...templates], "every key is where it is read");
  },
};

function inReplicatedJob(replicatedJob: Json, index: number): Problem[] {
  const template = objectAt(isObject(replicatedJob) ? replicatedJob : undefined, "template");
  const job = objectAt(template, "metadata");
  const pod = objectAt(objectAt(objectAt(template, "spec"), "template"), "metadata");
  const path = `spec.replicatedJobs[${index}].template`;
  return [
    ...misplaced(job, "labels", [], `${path}.metadata`),
    ...misplaced(job, "annotations", [], `${path}.metadata`),
    ...misplaced(pod, "labels", [LABEL.injected], `${path}.spec.template.metadata`),
    ...misplaced(pod, "annotations", ON_PODS, `${path}.spec.template.metadata`),
  ];
}

function misplaced(
  metadata: JsonObject | undefined,
  field: "labels" | "annotations",
  allowed: readonly string[],
  path: string,
): Problem[] {
  return Object.keys(objectAt(metadata, field) ?? {})
    .filter((key) => key.startsWith(`${GROUP}/`) && !allowed.includes(key))
    .map((key) => ({
      path: `${path}.${field}[${key}]`,
      message: "has no effect here; move it to metadata.annotations of the JobSet",
    }));
}
