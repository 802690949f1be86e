// Small questions about epochs that several rules ask. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import { type Group, type Member, participants } from "./group.ts";

/** Whether the synced epoch runs. Otherwise the group is between two epochs, and waits at the barrier. */
export function epochRuns({ deprecatedEpoch, syncedEpoch }: InPlaceRestartStatus): boolean {
  return deprecatedEpoch < syncedEpoch;
}

/**
 * How far above the synced epoch one on a Pod is believed. An object that was made from an old view of the Pods is behind by the
 * restarts which that view had missed: a few, and a thousand take the best part of an hour. A worker may write any epoch on its Pod.
 */
const MOST_AHEAD = 1_000;

/** The same where no epoch is known. A start takes more than a second: a group that came by it honestly is 30 years old. */
export const MOST_AT_FIRST = 1_000_000_000;

/** The highest epoch that an agent can have taken, after whatever loss of the group's state. */
export function highestPlausible({ syncedEpoch }: InPlaceRestartStatus): number {
  return syncedEpoch + MOST_AHEAD;
}

/** Of those up to `most`. */
export function highestEpoch(group: Group, most: number): number {
  return participants(group)
    .flatMap(({ epochs }) => [...epochs.keys()])
    .reduce((highest, epoch) => (epoch <= most ? Math.max(highest, epoch) : highest), 0);
}

/** Live Pods above an epoch. Looks at every Pod only if there is one. */
export function podsBeyond(group: Group, epoch: number): readonly Member[] {
  if (highestEpoch(group, Number.POSITIVE_INFINITY) <= epoch) return [];
  return [...group.members.values()].filter((member) => member.standing === "live" && (epochOf(member) ?? 0) > epoch);
}

export function epochOf(member: Pick<Member, "pod"> | undefined): number | undefined {
  return member?.pod.epoch.kind === "present" ? member.pod.epoch.epoch : undefined;
}
