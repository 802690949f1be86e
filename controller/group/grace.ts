// How long a Pod that is going away may still save its work. A restart in place leaves a worker 2 s, whatever its grace
// period. So the group keeps running while such a Pod ends: its peers may be saving a checkpoint with it. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { Pod } from "../../src/api/pod.ts";
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
  return member.graceEnd === undefined ? undefined : member.graceEnd + OVERDUE_MS;
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
  let next = Number.POSITIVE_INFINITY;
  for (const until of graceEnds(group, status)) if (until > now) next = Math.min(next, until);
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}

/** Nothing is waited for on an unreachable node, or in a stage whose workers have not started. */
function* graceEnds(
  { saving, surroundings: { unreachable } }: Group,
  { syncedEpoch, heldStages }: InPlaceRestartStatus,
): Generator<number> {
  for (const { until, epoch, stage, nodes } of saving.values()) {
    if (epoch !== syncedEpoch || heldStages.includes(stage)) continue;
    const isReachable = nodes.size > unreachable.size || [...nodes.keys()].some((node) => !unreachable.has(node));
    if (isReachable) yield until;
  }
}

/** In milliseconds since 1970. deletionTimestamp is the end of the grace period. Undefined if it cannot be read. */
export function endOfGrace({ deletion }: Pod): number | undefined {
  const end = Date.parse(deletion?.timestamp ?? "");
  return Number.isNaN(end) ? undefined : end;
}
