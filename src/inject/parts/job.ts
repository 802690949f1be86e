// The fields of the Job that decide when a lost Pod is replaced, and how many Pods run. Pure.
import { MAX_INT32 } from "../../api/names.ts";
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
import type { Unsupported } from "./unsupported.ts";

/**
 * Fields that injection overwrites: with other values the group cannot restart in place. Those with a reason give a
 * warning, because the user loses something.
 */
const FORCED: readonly { readonly field: string; readonly value: Json; readonly reason?: string }[] = [
  // The budget of the group allows at least as many failures as the user's value.
  { field: "backoffLimit", value: MAX_INT32 },
  {
    // The Job controller then delays replacements (10 s, 20 s, 40 s ...) per index instead of per Job.
    field: "backoffLimitPerIndex",
    value: MAX_INT32,
    reason: "failures count against the restart budget of the JobSet, not of each index (reprise.dev/max-restarts)",
  },
  // With as many completions as Pods, an Indexed Job succeeds exactly when a NonIndexed one does.
  { field: "completionMode", value: "Indexed" },
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
    if (reason !== undefined && !isAbsent(written) && written !== value) {
      overwrites.note(field, `${jobPath(index)}.${field}`, written, value, reason);
    }
  }
  return changed;
}

/**
 * All Pods of a group run at the same time, so completions equals parallelism. If only one is set, the other is set to
 * the same value only where that keeps the meaning: without parallelism, four completions run one after the other.
 * That case, like two different values, is left alone: overwriting one would change how many Pods run.
 */
export function withSlots(job: JsonObject): JsonObject {
  const { completions, parallelism } = job;
  if (isAbsent(parallelism)) {
    if (isAbsent(completions)) return withDefault(withDefault(job, "parallelism", 1), "completions", 1);
    return completions === 1 ? withDefault(job, "parallelism", 1) : job;
  }
  return withDefault(job, "completions", parallelism);
}

export function checkSlots(job: JsonObject, index: number): Unsupported | undefined {
  if (isWorkQueue(job)) {
    return {
      rule: "completions",
      path: `${jobPath(index)}.completions`,
      problem: "not set with completionMode NonIndexed, which is a work queue: it ends as soon as a Pod has succeeded",
      fix: "set it to the number of Pods if all of them have to succeed",
    };
  }
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
    problem: `${found}, and all Pods of a group run at the same time`,
    fix: "set both to the number of Pods",
  };
}

/** The Job controller does not replace failed Pods of such a Job once another one has succeeded. */
function isWorkQueue({ completionMode, completions, parallelism }: JsonObject): boolean {
  return completionMode === "NonIndexed" && isAbsent(completions) && !isAbsent(parallelism) && parallelism !== 1;
}

/**
 * With a success policy, a Job deletes its other Pods as soon as some have succeeded, and reports the reason only
 * afterwards. The group would take them for lost Pods and restart, or fail, because it succeeded.
 */
export function checkSuccessPolicy({ successPolicy }: JsonObject, index: number): Unsupported | undefined {
  if (isAbsent(successPolicy)) return undefined;
  return {
    rule: "success-policy",
    path: `${jobPath(index)}.successPolicy`,
    problem: "deletes running Pods of the group, which looks like a failure",
    fix: "remove it and let every Pod exit with 0",
  };
}

/** The rules of the Job's podFailurePolicy. In an injected Job the injected ones stand behind the user's. */
export function jobFailureRules(job: JsonObject): readonly Json[] {
  return listAt(objectAt(job, "podFailurePolicy"), "rules");
}

/** The user's own rules come first. */
export function withPodFailureRules(job: JsonObject, rules: readonly JsonObject[]): JsonObject {
  if (rules.length === 0) return job;
  return withObject(job, "podFailurePolicy", (policy) =>
    withList(policy, "rules", (written) => withAppended(written, rules)),
  );
}

/** The user's rules and the injected ones together must fit the limit. */
export function checkPodFailureRules(
  job: JsonObject,
  index: number,
  injected: readonly JsonObject[],
): Unsupported | undefined {
  const count = ruleCount(jobFailureRules(job), injected);
  if (count <= MAX_POD_FAILURE_RULES) return undefined;
  return {
    rule: "rule-limit",
    path: `${jobPath(index)}.podFailurePolicy.rules`,
    problem: `has ${count} rules with the injected ones, and Kubernetes allows ${MAX_POD_FAILURE_RULES}`,
    fix: "merge or remove some of yours, or select fewer workers",
  };
}

/** Counts exactly only near the limit: comparing long lists of a hostile object would take seconds. */
function ruleCount(written: readonly Json[], injected: readonly JsonObject[]): number {
  const most = written.length + injected.length;
  if (most <= MAX_POD_FAILURE_RULES) return most;
  if (Math.max(written.length, injected.length) > MAX_POD_FAILURE_RULES) return most;
  return withAppended(written, injected).length;
}
