// A suspended JobSet: its epoch ends without a restart, when its Pods are gone. Pure.
import { findBlame } from "../group/blame.ts";
import { epochRuns } from "../group/epochs.ts";
import { isDeparture } from "../group/evidence.ts";
import { type Group, participants } from "../group/group.ts";
import { withoutDeletion } from "../status/history.ts";
import type { Context, Step } from "./rule.ts";

/**
 * Every Pod keeps its grace period: none restarts in place while it may still end. The Pods that JobSet creates when it
 * is resumed start the next epoch. While the JobSet is suspended no later rule acts.
 */
export function closeWhenSuspended(context: Context): Step | undefined {
  const { group, jobSet, status } = context;
  if (!group.suspensionSeen) return undefined;
  const closes = jobSet.suspended ? !hasPods(group) : wasEnded(context);
  const before = withoutDeletion(status);
  const closed = closes ? { ...before, deprecatedEpoch: status.syncedEpoch } : before;
  const changed = closed.deprecatedEpoch !== status.deprecatedEpoch || closed.history !== status.history;
  return changed || jobSet.suspended ? { status: closed, notices: [] } : undefined;
}

function hasPods(group: Group): boolean {
  if (group.ending.size > 0) return true;
  return participants(group).some(({ epochs, unpublished }) => epochs.size > 0 || unpublished > 0);
}

/** A JobSet may be resumed before its Pods are deleted, or before they are gone. Only a lost Pod ends the epoch. */
function wasEnded({ group, status, now }: Context): boolean {
  const blame = epochRuns(status) ? findBlame(group, status, now) : undefined;
  if (blame === undefined) return false;
  // A peer that fails because it lost one of these Pods has not failed by itself.
  const departed = [...group.lossTallies.values()].some((each) => each.epoch === status.syncedEpoch && each.departure);
  return departed || isDeparture(blame);
}
