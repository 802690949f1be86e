// A suspended JobSet: its epoch ends without a restart. Pure.
import { withoutDeletion } from "../status/history.ts";
import type { Context, Step } from "./rule.ts";

/** The Pods that JobSet creates when it is resumed start the next epoch. While it is suspended no later rule acts. */
export function closeWhenSuspended({ group, jobSet, status }: Context): Step | undefined {
  if (!group.suspensionSeen) return undefined;
  const closed = { ...withoutDeletion(status), deprecatedEpoch: status.syncedEpoch };
  const changed = closed.deprecatedEpoch !== status.deprecatedEpoch || closed.history !== status.history;
  return changed || jobSet.suspended ? { status: closed, notices: [] } : undefined;
}
