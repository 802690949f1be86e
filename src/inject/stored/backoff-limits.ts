// The backoffLimit of each participating Job as the user wrote it, for the record. Only a JobSet with rules of its own
// needs it: a rule applies to a Job whose retries are used up. Pure.
import { ALL_OTHERS, DEFAULT_BACKOFF_LIMIT } from "../../api/backoff-limits.ts";
import { MAX_INT32 } from "../../api/names.ts";
import { isAbsent, isObject, listAt, objectAt } from "../../json/edit.ts";
import { asCount } from "../../json/fields.ts";
import type { JsonObject } from "../../json/types.ts";
import { FAIL_JOB_SET_RULE } from "../../policy/compile.ts";
import type { Participant } from "../participation.ts";
import { findAgent } from "../parts/agent.ts";

/** By replicatedJob. */
export type BackoffLimits = Readonly<Record<string, number>>;

/** The record is an annotation. With more Jobs, the most common limit is written once and the exceptions by name. */
const MOST_LIMITS = 20;

export function writtenBackoffLimits(
  spec: JsonObject,
  participants: readonly Participant[],
): BackoffLimits | undefined {
  const rules = listAt(objectAt(spec, "failurePolicy"), "rules").filter(isObject);
  if (rules.every(({ name }) => name === FAIL_JOB_SET_RULE)) return undefined;
  const limits = participants.map(({ template: { name, job, podSpec } }) => {
    // A copy of an injected JobSet without its record does not show what the user wrote.
    const isKnown = findAgent(podSpec) === undefined;
    return [name, isKnown ? backoffLimitOf(job) : DEFAULT_BACKOFF_LIMIT] as const;
  });
  return limits.length <= MOST_LIMITS ? Object.fromEntries(limits) : briefly(limits);
}

function briefly(limits: readonly (readonly [name: string, limit: number])[]): BackoffLimits {
  const alike = [...Map.groupBy(limits, ([, limit]) => limit)].sort(([, a], [, b]) => b.length - a.length);
  const common = alike[0]?.[0] ?? DEFAULT_BACKOFF_LIMIT;
  const others = limits.filter(([, limit]) => limit !== common).slice(0, MOST_LIMITS - 1);
  return { [ALL_OTHERS]: common, ...Object.fromEntries(others) };
}

/** With a limit per index, Kubernetes sets none for the Job. */
function backoffLimitOf({ backoffLimit, backoffLimitPerIndex }: JsonObject): number {
  return asCount(backoffLimit) ?? (isAbsent(backoffLimitPerIndex) ? DEFAULT_BACKOFF_LIMIT : MAX_INT32);
}

export function readBackoffLimits(written: JsonObject | undefined): BackoffLimits | undefined {
  if (written === undefined) return undefined;
  const limits = Object.entries(written).flatMap(([name, value]) => {
    const limit = asCount(value);
    return limit === undefined ? [] : [[name, limit] as const];
  });
  return Object.fromEntries(limits);
}
