// Workers that fail at once, again and again, in Pods whose /dev/shm earlier runs have filled. A restart in place keeps
// what is there, so only a new Pod helps. Pure.
import type { RestartRecord } from "../../src/api/in-place-restart.ts";
import type { Group } from "../group/group.ts";
import { largeLeftovers } from "../group/leftovers.ts";
import { agentOf } from "../group/pod-failure.ts";
import type { Suspect } from "../group/suspects.ts";

/** A worker that found no room failed before this. Later failures have another cause. */
const SOON_MS = 60_000;

interface FullPod {
  /** UID of the Pod. */
  readonly uid: string;
  readonly mebibytes: number;
}

/**
 * Restarts in place before a Pod is replaced. A Job delays each replacement of a slot twice as long as the one before,
 * so a Pod that has some room left is worth another try.
 */
const LEAST_RESTARTS = 3;

/** The suspects to replace: the last two runs of the group were short, and their leftovers are large. */
export function findFullPods(
  { members }: Group,
  history: readonly RestartRecord[],
  suspects: readonly Suspect[],
): readonly FullPod[] {
  const [first, second, third] = history.slice(-3);
  if (!wasShort(first, second) || !wasShort(second, third)) return [];
  return suspects.flatMap(({ uid }) => {
    const pod = members.get(uid)?.pod;
    if (pod === undefined || (agentOf(pod)?.restartCount ?? 0) < LEAST_RESTARTS) return [];
    const mebibytes = largeLeftovers(pod);
    return mebibytes === undefined ? [] : [{ uid, mebibytes }];
  });
}

/** Whether the run between two restarts ended soon after its start. */
function wasShort(before: RestartRecord | undefined, after: RestartRecord | undefined): boolean {
  return Date.parse(after?.failureSeen ?? "") - Date.parse(before?.synced ?? "") <= SOON_MS;
}
