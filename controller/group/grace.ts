// How long a Pod that is going away may still save its work. A restart in place leaves a worker 2 s, whatever its grace
// period. So the group keeps running while such a Pod ends: its peers may be saving a checkpoint with it. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { Pod } from "../../src/api/pod.ts";
import { epochOf } from "./epochs.ts";
import type { Group, Member } from "./group.ts";
import { mayBeOld } from "./membership.ts";
import { workerStatuses } from "./pod-failure.ts";

/** A kubelet that kills a Pod at the end of its grace period reports it within a few seconds. */
export const OVERDUE_MS = 10_000;

/**
 * The Pods of a Job that is suspended or deleted are deleted within seconds. A Pod that was orphaned is not: it runs
 * on.
 */
const UNDELETED_MS = 30_000;

/** Until when the workers of a Pod that is going away may run, in milliseconds since 1970; undefined if none does. */
export function savesUntil(
  member: Omit<Member, "savesUntil">,
  workers: readonly string[],
  before: Member | undefined,
  now: number,
): number | undefined {
  const { pod, state } = member;
  if (state !== "ending" || workers.every((worker) => hasEnded(member, worker))) return undefined;
  if (pod.deletion === undefined) return before?.savesUntil ?? now + UNDELETED_MS;
  const until = endOfGrace(pod) + OVERDUE_MS;
  return Number.isNaN(until) ? undefined : until;
}

/** In the Pod's current epoch. An outdated status may still show the end of an earlier run. */
function hasEnded(member: Omit<Member, "savesUntil">, worker: string): boolean {
  const run = member.runs.get(worker);
  if (run === undefined || run.seenAt < member.publishedAt || mayBeOld(member, run)) return false;
  return workerStatuses(member.pod, [worker]).some(({ state }) => state.kind === "terminated");
}

/** Whether a Pod of the running epoch is going away, and its workers may still be saving their work. */
export function isWorkBeingSaved(group: Group, status: InPlaceRestartStatus, now: number): boolean {
  for (const until of graceEnds(group, status)) if (until > now) return true;
  return false;
}

/** When the next Pod that is going away has used up its grace period, in milliseconds since 1970. */
export function graceOverNext(group: Group, status: InPlaceRestartStatus, now: number): number | undefined {
  const ends = [...graceEnds(group, status)].filter((until) => until > now);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/** Nothing is waited for on an unreachable node, or in a stage whose workers have not started. */
function* graceEnds(
  { ending, members, surroundings }: Group,
  { syncedEpoch, heldStages }: InPlaceRestartStatus,
): Generator<number> {
  for (const uid of ending) {
    const member = members.get(uid);
    if (member?.savesUntil === undefined || epochOf(member) !== syncedEpoch) continue;
    const { node = "", replicatedJob } = member.pod;
    if (!heldStages.includes(replicatedJob) && !surroundings.unreachable.has(node)) yield member.savesUntil;
  }
}

/** deletionTimestamp is the end of the grace period. */
export function endOfGrace({ deletion }: Pod): number {
  return Date.parse(deletion?.timestamp ?? "");
}
