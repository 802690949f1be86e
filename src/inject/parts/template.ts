// The parts of one replicatedJob (Job, Pod template, containers) and their field paths. Pure.

import { isAbsent, isObject, listAt, objectAt, textAt, withObject } from "../../json/edit.ts";
import type { Json, JsonObject } from "../../json/types.ts";

export interface Template {
  readonly name: string;
  readonly job: JsonObject;
  readonly pod: JsonObject;
  readonly podSpec: JsonObject;
  /** The regular containers. At least one, each with a name. */
  readonly containers: readonly JsonObject[];
}

/** Returns undefined for a replicatedJob without a Pod template that can take an agent. */
export function readTemplate(replicatedJob: Json | undefined): Template | undefined {
  if (!isObject(replicatedJob)) return undefined;
  const name = textAt(replicatedJob, "name");
  const job = objectAt(objectAt(replicatedJob, "template"), "spec");
  const pod = objectAt(job, "template");
  const podSpec = objectAt(pod, "spec");
  const list = listAt(podSpec, "containers");
  const containers = list.filter(isObject).filter((container) => textAt(container, "name") !== undefined);
  if (name === undefined || job === undefined || pod === undefined || podSpec === undefined) return undefined;
  if (containers.length === 0 || containers.length !== list.length) return undefined;
  if (!["initContainers", "volumes"].every((key) => isListOrAbsent(podSpec[key]))) return undefined;
  return { name, job, pod, podSpec, containers };
}

function isListOrAbsent(value: Json | undefined): boolean {
  return isAbsent(value) || Array.isArray(value);
}

export function containerNames(template: Template): readonly string[] {
  return template.containers.map((container) => textAt(container, "name") ?? "");
}

export function changeJob(replicatedJob: JsonObject, change: (job: JsonObject) => JsonObject): JsonObject {
  return withObject(replicatedJob, "template", (template) => withObject(template, "spec", change));
}

export function changePod(job: JsonObject, change: (pod: JsonObject) => JsonObject): JsonObject {
  return withObject(job, "template", change);
}

export function jobPath(index: number): string {
  return `spec.replicatedJobs[${index}].template.spec`;
}

export function podPath(index: number): string {
  return `${jobPath(index)}.template.spec`;
}
