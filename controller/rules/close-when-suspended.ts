// What a suspension means for the epochs. Pure.
import type { JobSet } from "../../src/api/jobset.ts";
import type { Group } from "../group/group.ts";
import { withoutDeletion } from "../status/history.ts";
import { CONDITION } from "../status/summary.ts";
import type { Status, Step } from "./rule.ts";

/** Suspension ends the epoch without being a restart: the Pods that come back with the resumption start the next one. */
export function closeWhenSuspended(group: Group, status: Status): Step | undefined {
  if (!group.suspensionSeen) return undefined;
  const closed = { ...withoutDeletion(status), deprecatedEpoch: status.syncedEpoch };
  const changed = closed.deprecatedEpoch !== status.deprecatedEpoch || closed.history !== status.history;
  if (changed || group.jobSet?.suspended === true) return { status: closed, notices: [] };
  return undefined;
}

/**
 * Whether the JobSet says that it was resumed since the last sync, which a controller that was down has not seen. Two
 * clocks are compared, so this only excuses a deletion; it never ends an epoch.
 */
export function wasResumed(jobSet: JobSet, { conditions }: Status): boolean {
  const resumed = jobSet.conditions.find(({ type, status }) => type === "Suspended" && status === "False");
  const synced = conditions.find(({ type, status }) => type === CONDITION.atBarrier && status === "False");
  const [resumedAt, syncedAt] = [resumed?.lastTransitionTime, synced?.lastTransitionTime];
  return resumedAt !== undefined && syncedAt !== undefined && Date.parse(resumedAt) > Date.parse(syncedAt);
}
