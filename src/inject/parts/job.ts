// The fields of the Job: who replaces a lost Pod, and when. Pure.
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

/** What must hold whatever the user wrote. Each is overwritten, because without it the group cannot restart in place. */
const FORCED: readonly { readonly field: string; readonly value: Json; readonly reason: string }[] = [
  {
    field: "backoffLimit",
    value: MAX_INT32,
    reason: "the restart budget of the JobSet counts failures, not each Job (reprise.dev/max-restarts)",
  },
  {
    // Makes the Job controller's delay before a replacement (10 s, 20 s, 40 s ...) one per index instead of one per Job.
    field: "backoffLimitPerIndex",
    value: MAX_INT32,
    reason: "the restart budget of the JobSet counts failures, not each index (reprise.dev/max-restarts)",
  },
  { field: "completionMode", value: "Indexed", reason: "every Pod of a group needs a slot of its own" },
  {
    field: "podReplacementPolicy",
    value: "Failed",
    reason: "a Pod must be gone before another takes its slot in the group",
  },
];

/** The forced fields and their values in a new JobSet. */
export function newJobFields(): JsonObject {
  return Object.fromEntries(FORCED.map(({ field, value }) => [field, value]));
}

/** The forced fields as they are in a stored Job. */
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
 * Every Pod of the group runs at the same time, so completions equals parallelism. Where the user gave one, the other
 * follows only if that keeps the meaning: an Indexed Job must have completions, but parallelism left out means 1, and
 * four completions one after the other are not a group of four. That, like two different numbers, is refused and not
 * overwritten: which of the two was meant decides how many Pods run.
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
    message: `${found}; all Pods of a group run at the same time, so set both to the number of Pods`,
  };
}

/**
 * With a success policy a Job deletes its other Pods as soon as some have succeeded, and says why only afterwards: to the group they are lost,
 * and it would restart, or fail, because it has succeeded.
 */
export function checkSuccessPolicy({ successPolicy }: JsonObject, index: number): Finding | undefined {
  if (isAbsent(successPolicy)) return undefined;
  return {
    rule: "success-policy",
    path: `${jobPath(index)}.successPolicy`,
    message:
      "ends Pods of the group while others still run, which cannot be told from a failure; remove it and let every Pod exit with 0, " +
      `or leave this replicatedJob out of ${ANNOTATION.replicatedJobs}`,
  };
}

/** The user's own rules are looked at first. */
export function withPodFailureRules(job: JsonObject, rules: readonly JsonObject[]): JsonObject {
  if (rules.length === 0) return job;
  return withObject(job, "podFailurePolicy", (policy) =>
    withList(policy, "rules", (written) => withAppended(written, rules)),
  );
}

/** Before the merge with the least that it will add, which also bounds its work; after it with nothing. */
export function checkPodFailureRules(job: JsonObject, index: number, toCome: number): Finding | undefined {
  const written = listAt(objectAt(job, "podFailurePolicy"), "rules").length;
  const count = Math.max(written, toCome + 1);
  if (count <= MAX_POD_FAILURE_RULES) return undefined;
  return {
    rule: "rule-limit",
    path: `${jobPath(index)}.podFailurePolicy.rules`,
    message:
      `${count} rules or more with those that injection adds, and Kubernetes takes ${MAX_POD_FAILURE_RULES}; ` +
      `merge or remove some of yours, or name fewer workers`,
  };
}
