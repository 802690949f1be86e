// Whether a JobSet was resumed while no controller was watching. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { CONDITION } from "./conditions.ts";

/**
 * Whether the JobSet was resumed after the barrier was last lifted. This compares the clocks of two machines, so it may
 * only keep a deletion from being counted. It never ends an epoch.
 */
export function wasResumed(jobSet: JobSet, { conditions }: InPlaceRestartStatus): boolean {
  const resumed = jobSet.conditions.find(({ type, status }) => type === "Suspended" && status === "False");
  const synced = conditions.find(({ type, status }) => type === CONDITION.atBarrier && status === "False");
  const [resumedAt, syncedAt] = [resumed?.lastTransitionTime, synced?.lastTransitionTime];
  return resumedAt !== undefined && syncedAt !== undefined && Date.parse(resumedAt) > Date.parse(syncedAt);
}
