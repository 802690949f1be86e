// Small questions about epochs that several rules ask. Pure.
import type { InPlaceRestartStatus } from "../src/api/in-place-restart.ts";
import type { Group, Member } from "./group.ts";
import { participants } from "./startup-order.ts";

/** Whether the synced epoch runs. Otherwise the group is between two epochs, and waits at the barrier. */
export function epochRuns({ deprecatedEpoch, syncedEpoch }: InPlaceRestartStatus): boolean {
  return deprecatedEpoch < syncedEpoch;
}

export function highestEpoch(group: Group): number {
  return participants(group).reduce((highest, { epochs }) => Math.max(highest, ...epochs.keys()), 0);
}

export function epochOf(member: Pick<Member, "pod"> | undefined): number | undefined {
  return member?.pod.epoch.kind === "present" ? member.pod.epoch.epoch : undefined;
}
