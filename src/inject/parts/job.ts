// The fields of the Job that decide when a lost Pod is replaced, and how many Pods run. Pure.
import type { Finding } from "../../api/admission.ts";
import { ANNOTATION, MAX_INT32 } from "../../api/names.ts";
import {
  isAbsent,
  listAt,
  objectAt,
  withAppended,
  withDefault,
  withField,
  withList,
  withObject,
} from "../../json/edit.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { MAX_POD_FAILURE_RULES } from "../../policy/compile.ts";
import type { Overwrites } from "../overwrites.ts";
import { jobPath } from "./template.ts";

/** Fields that injection overwrites: with other values the group cannot restart in place. */
const FORCED: readonly { readonly field: string; readonly value: Json; readonly reason: string }[] = [
  {
    field: "backoffLimit",
    value: MAX_INT32,
    reason: "failures count against the restart budget of the JobSet, not of each Job (reprise.dev/max-restarts)",
  },
  {
    // The Job controller then delays replacements (10 s, 20 s, 40 s ...) per index instead of per Job.
    field: "backoffLimitPerIndex",
    value: MAX_INT32,
    reason: "failures count against the restart budget of the JobSet, not of each index (reprise.dev/max-restarts)",
  },
  { field: "completionMode", value: "Indexed", reason: "every Pod of a group needs its own slot" },
  {
    field: "podReplacementPolicy",
    value: "Failed",
    reason: "a Pod must be gone before another one takes its slot",
  },
];

/** The forced fields and their values in a new JobSet. */
export function newJobFields(): JsonObject {
  return Object.fromEntries(FORCED.map(({ field, value }) => [field, value]));
}

/** The forced fields of a stored Job, with their stored values. */
export function storedJobFields(job: JsonObject): JsonObject {
  const stored: JsonObject = {};
  for (const { field } of FORCED) {
    const value = job[field];
    if (!isAbsent(value)) stored[field] = value;
  }
  return stored;
}

export function withJobFields(job: JsonObject, fields: JsonObject, index: number, overwrites: Overwrites): JsonObject {
  let changed = job;
  for (const { field, reason } of FORCED) {
    const value = fields[field];
    if (value === undefined) continue;
    const written = job[field];
    changed = withField(changed, field, value);
    if (!isAbsent(written) && written !== value) {
      overwrites.note(field, `${jobPath(index)}.${field}`, written, value, reason);
    }
  }
  return changed;
}

/**
 * All Pods of a group run at the same time, so completions equals parallelism. If only one is set, the other is set to
 * the same value only where that keeps the meaning: without parallelism, four completions run one after the other.
 * That case, like two different values, is an error: overwriting one would change how many Pods run.
 */
export function withSlots(job: JsonObject): JsonObject {
  const { completions, parallelism } = job;
  if (isAbsent(parallelism)) {
    if (isAbsent(completions)) return withDefault(withDefault(job, "parallelism", 1), "completions", 1);
    return completions === 1 ? withDefault(job, "parallelism", 1) : job;
  }
  return withDefault(job, "completions", parallelism);
}

export function checkSlots(job: JsonObject, index: number): Finding | undefined {
  const { completions, parallelism } = withSlots(job);
  if (typeof completions !== "number") return undefined;
  const atOnce = isAbsent(parallelism) ? 1 : parallelism;
  if (typeof atOnce !== "number" || atOnce === completions) return undefined;
  const found = isAbsent(parallelism)
    ? `${completions} completions, but parallelism is not set, which means 1`
    : `${completions} completions, but parallelism is ${atOnce}`;
  return {
    rule: "completions",
    path: `${jobPath(index)}.completions`,
    message: `${found}; all Pods of a group run at the same time: set both to the number of Pods`,
  };
}

/**
 * With a success policy, a Job deletes its other Pods as soon as some have succeeded, and reports the reason only
 * afterwards. The group would take them for lost Pods and restart, or fail, because it succeeded.
 */
export function checkSuccessPolicy({ successPolicy }: JsonObject, index: number): Finding | undefined {
  if (isAbsent(successPolicy)) return undefined;
  return {
    rule: "success-policy",
    path: `${jobPath(index)}.successPolicy`,
    message:
      "deletes running Pods of the group, which looks like a failure; remove it and let every Pod exit with 0, " +
      `or exclude this replicatedJob with ${ANNOTATION.replicatedJobs}`,
  };
}

/** The user's own rules come first. */
export function withPodFailureRules(job: JsonObject, rules: readonly JsonObject[]): JsonObject {
  if (rules.length === 0) return job;
  return withObject(job, "podFailurePolicy", (policy) =>
    withList(policy, "rules", (written) => withAppended(written, rules)),
  );
}

/** Called before the merge with the least number of rules to add, which bounds its work, and after it with 0. */
export function checkPodFailureRules(job: JsonObject, index: number, toCome: number): Finding | undefined {
  const written = listAt(objectAt(job, "podFailurePolicy"), "rules").length;
  const count = Math.max(written, toCome + 1);
  if (count <= MAX_POD_FAILURE_RULES) return undefined;
  return {
    rule: "rule-limit",
    path: `${jobPath(index)}.podFailurePolicy.rules`,
    message:
      `has at least ${count} rules including those that injection adds, and Kubernetes allows ` +
      `${MAX_POD_FAILURE_RULES}; merge or remove some of yours, or select fewer workers`,
  };
}
