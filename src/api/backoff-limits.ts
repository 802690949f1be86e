// The backoffLimit of each Job as the user wrote it. Injection overwrites it and keeps it in the record of the JobSet,
// because a rule of failurePolicy applies only to a Job whose retries are used up. Pure.
import { asCount, asMap } from "../json/fields.ts";
import { ANNOTATION } from "./names.ts";

/** Kubernetes' default. */
export const DEFAULT_BACKOFF_LIMIT = 6;

/** The key of the limit that all replicatedJobs have which the record does not name. No replicatedJob has this name. */
export const ALL_OTHERS = "*";

/** The limit of a replicatedJob. A user may edit the record: what cannot be read counts as not set. */
export function backoffLimitOf(annotations: Readonly<Record<string, string>>, replicatedJob: string): number {
  const limits = asMap(asMap(parse(annotations[ANNOTATION.status]))["backoffLimits"]);
  const key = Object.hasOwn(limits, replicatedJob) ? replicatedJob : ALL_OTHERS;
  return asCount(limits[key]) ?? DEFAULT_BACKOFF_LIMIT;
}

function parse(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return undefined;
  }
}
