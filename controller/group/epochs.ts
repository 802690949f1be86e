// Questions about epochs that several rules ask. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import { type Group, type Member, participants } from "./group.ts";

/** Whether the synced epoch runs. Otherwise the group is between two epochs, at the barrier. */
export function epochRuns({ deprecatedEpoch, syncedEpoch }: InPlaceRestartStatus): boolean {
  return deprecatedEpoch < syncedEpoch;
}

/**
 * How far above the synced epoch the epoch of a Pod is believed. A status created from an outdated list of Pods lags by
 * the restarts that the list missed: a few, and a thousand take most of an hour. A worker may write any epoch on its
 * own Pod.
 */
const MOST_AHEAD = 1_000;

/** The same limit if no epoch is recorded. A restart takes more than a second, so this many take more than 30 years. */
export const MOST_AT_FIRST = 1_000_000_000;

/** The highest epoch that an agent can have taken, even if the status was lost. */
export function highestPlausible({ syncedEpoch }: InPlaceRestartStatus): number {
  return syncedEpoch + MOST_AHEAD;
}

/** The highest epoch of a live Pod; epochs above `most` are ignored. */
export function highestEpoch(group: Group, most: number): number {
  return participants(group)
    .flatMap(({ epochs }) => [...epochs.keys()])
    .reduce((highest, epoch) => (epoch <= most ? Math.max(highest, epoch) : highest), 0);
}

/** Live Pods above an epoch. */
export function podsBeyond(group: Group, epoch: number): readonly Member[] {
  return livePods(group, (each) => each > epoch);
}

/** Live Pods at an epoch that the filter accepts, in the order in which they were first seen. */
export function livePods(group: Group, accepts: (epoch: number) => boolean): readonly Member[] {
  const uids = [...group.liveByEpoch].flatMap(([epoch, pods]) => (accepts(epoch) ? [...pods] : []));
  const found = uids.flatMap((uid) => group.members.get(uid) ?? []);
  return found.sort((a, b) => a.firstSeenAt - b.firstSeenAt);
}

export function epochOf(member: Pick<Member, "pod"> | undefined): number | undefined {
  return member?.pod.epoch.kind === "present" ? member.pod.epoch.epoch : undefined;
}
