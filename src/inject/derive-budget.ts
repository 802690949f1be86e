// The restart budget that follows from the JobSet's own fields. Pure. A group never gets fewer restarts than the plain
// JobSet would have survived failures.
import { type Budget, isDerived, LEAST_WITHOUT_POLICY } from "../api/budget.ts";
import { MAX_INT32 } from "../api/names.ts";
import { isObject, listAt, objectAt } from "../json/edit.ts";
import { asCount } from "../json/fields.ts";
import type { Json, JsonObject } from "../json/types.ts";
import type { Participant } from "./participation.ts";
import { findAgent } from "./parts/agent.ts";
import { withoutFailJobSetRule } from "./parts/failure-policy.ts";
import { readTemplate, type Template } from "./parts/template.ts";

/** The backoffLimit of a Job that sets none. */
export const KUBERNETES_BACKOFF_LIMIT = 6;

/**
 * Injection overwrites backoffLimit. In a JobSet that has it already, only the record knows what the user wrote, and
 * without the record the overwritten value counts as not set.
 */
export function deriveBudget(
  spec: JsonObject,
  participants: readonly Participant[],
  recorded: Budget | undefined,
): Budget {
  const jobs = listAt(spec, "replicatedJobs");
  const limits = withJobs(jobs, participants).map(({ index }) => writtenLimit(readTemplate(jobs[index])));
  if (recorded !== undefined && isDerived(recorded) && limits.includes("overwritten")) return recorded;
  const policy = objectAt(withoutFailJobSetRule(spec), "failurePolicy");
  return budgetFromLimits({
    backoffLimits: limits.map((limit) => (limit === "overwritten" ? undefined : limit)),
    failurePolicy: policy === undefined ? undefined : { maxRestarts: asCount(policy["maxRestarts"]) ?? 0 },
  });
}

/** A replicatedJob without replicas has no Job whose failures could end the JobSet. */
export function withJobs(jobs: readonly Json[], participants: readonly Participant[]): readonly Participant[] {
  const present = participants.filter(({ index }) => {
    const job = jobs[index];
    return !isObject(job) || job["replicas"] !== 0;
  });
  return present.length === 0 ? participants : present;
}

/** How many failures the Job survives as the user wrote it. Undefined if it does not say. */
function writtenLimit(template: Template | undefined): number | "overwritten" | undefined {
  if (template === undefined) return undefined;
  const { job, podSpec } = template;
  if (job["backoffLimit"] === MAX_INT32 && findAgent(podSpec) !== undefined) return "overwritten";
  const backoffLimit = asCount(job["backoffLimit"]);
  const perIndex = asCount(job["backoffLimitPerIndex"]);
  // With a limit for each index, Kubernetes sets none for the whole Job by default.
  if (backoffLimit !== undefined || perIndex === undefined) return backoffLimit;
  return Math.max(perIndex, KUBERNETES_BACKOFF_LIMIT);
}

interface UserLimits {
  /** Of the participating Jobs, as the user wrote them. Undefined where the user wrote none. */
  readonly backoffLimits: readonly (number | undefined)[];
  readonly failurePolicy: { readonly maxRestarts: number } | undefined;
}

/**
 * The failures that the plain JobSet survives at least. Its weakest Job survives b of them before JobSet recreates
 * everything because of the next, which it does m times.
 */
export function budgetFromLimits({ backoffLimits, failurePolicy }: UserLimits): Budget {
  const b = backoffLimits.reduce<number>(
    (least, limit = KUBERNETES_BACKOFF_LIMIT) => Math.min(least, limit),
    MAX_INT32,
  );
  const m = failurePolicy?.maxRestarts ?? 0;
  const max = survivedFailures(b, m);
  if (failurePolicy === undefined && max < LEAST_WITHOUT_POLICY) return { max: LEAST_WITHOUT_POLICY, from: "default" };
  if (b > 0 && m === 0) return { max, from: "backoffLimit" };
  return { max, from: b === 0 && m > 0 ? "maxRestarts" : "backoffLimit-and-maxRestarts" };
}

/** The failures that a Job with this limit survives, and its JobSet with it: JobSet recreates the Job m times. */
export function survivedFailures(b: number, m: number): number {
  return Math.min((b + 1) * (m + 1) - 1, MAX_INT32);
}
