// Recognizes a JobSet whose Workload exists already, as the copy that MultiKueue creates on a worker cluster. Kueue
// compares the Pods of both, and ends the Workload if they differ. Pure.
import { annotationPath, type Finding } from "../api/admission.ts";
import { MULTIKUEUE } from "../api/names.ts";
import { objectAt, textAt } from "../json/edit.ts";
import type { JsonObject } from "../json/types.ts";
import { isInjected } from "./stored/is-injected.ts";

export function hasPrebuiltWorkload(object: JsonObject): boolean {
  const metadata = objectAt(object, "metadata");
  return ["annotations", "labels"].some(
    (key) => (textAt(objectAt(metadata, key), MULTIKUEUE.prebuiltWorkload) ?? "") !== "",
  );
}

/** The warning about a JobSet that was plain when its Workload was made. */
export function missingInjection(spec: JsonObject): readonly Finding[] {
  if (isInjected(spec)) return [];
  const message =
    "its Pods must match this Workload of Kueue, so reprise changes nothing in this JobSet; " +
    "with MultiKueue, label its namespace on the manager cluster, and the copy is injected";
  return [{ rule: "prebuilt-workload", path: annotationPath(MULTIKUEUE.prebuiltWorkload), message }];
}
