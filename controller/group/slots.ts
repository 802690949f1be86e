// Counts slots and live Pods per stage, by adding and taking away what one Pod or one Job contributes.
import type { Job } from "../../src/api/job.ts";
import type { ChildJob, Group, Member, Slot, StageTally } from "./group.ts";
import { standingOfJob } from "./membership.ts";

type Sign = 1 | -1;

/** A slot as people and the history call it: the Job's name and the index. */
export function slotName(job: string | undefined, index: number | undefined): string {
  return `${job ?? ""}/${index ?? ""}`;
}

/** Adds or takes away one Pod. Taken away with the very member that was added, nothing of it remains. */
export function tallyMember(group: Group, member: Member, sign: Sign): void {
  const { pod, standing } = member;
  const child = group.jobs.get(pod.controller?.uid ?? "");
  const tally = child === undefined ? undefined : group.stages.get(child.job.replicatedJob);
  if (child === undefined || tally === undefined) return;
  switch (standing) {
    case "live":
      tallyEpoch(tally, member, sign);
      tally.running += member.running ? sign : 0;
      tally.ready += member.ready ? sign : 0;
      changeSlot(group, child, pod.completionIndex, ({ live }) => {
        if (sign === 1) live.add(pod.uid);
        else live.delete(pod.uid);
      });
      return;
    case "ending":
      tally.ending += sign;
      return;
    case "succeeded":
      // Not taken back when the Pod goes: its index stays done.
      changeSlot(group, child, pod.completionIndex, (slot) => {
        slot.done = true;
      });
      return;
    case "failed":
    case "outside":
      return;
  }
}

function tallyEpoch(tally: StageTally, { pod }: Member, sign: Sign): void {
  if (pod.epoch.kind !== "present") {
    tally.unpublished += sign;
    return;
  }
  const { epoch } = pod.epoch;
  const count = (tally.epochs.get(epoch) ?? 0) + sign;
  if (count === 0) tally.epochs.delete(epoch);
  else tally.epochs.set(epoch, count);
}

/**
 * Counts a Job and its slots, once its Pods are taken away. Of a Job that is not of the group nothing is looked at: the Jobs of all JobSets
 * of a cluster are seen, and one that is not Indexed may have two thousand million slots.
 */
export function enterSlots(group: Group, child: ChildJob): void {
  const { job } = child;
  if (standingOfJob(job, group.jobSet, group.stages.get(job.replicatedJob)) === "outside") return;
  const done = job.outcome === "Complete" ? [{ first: 0, last: job.parallelism - 1 }] : job.completedIndexes;
  for (const { first, last } of done) {
    for (let index = first; index <= last && index < job.parallelism; index += 1) slotAt(child, index).done = true;
  }
  const tally = countingTally(group, child);
  if (tally === undefined) return;
  tally.startedJobs += 1;
  tally.startedSlots += job.parallelism;
  for (const slot of countedSlots(child)) addSlot(tally, slot, 1);
}

export function leaveSlots(group: Group, child: ChildJob): void {
  const tally = countingTally(group, child);
  if (tally === undefined) return;
  tally.startedJobs -= 1;
  tally.startedSlots -= child.job.parallelism;
  for (const slot of countedSlots(child)) addSlot(tally, slot, -1);
}

/** A Job that was made smaller has fewer. */
function countedSlots({ job, slots }: ChildJob): readonly Slot[] {
  return [...slots].filter(([index]) => isInside(job, index)).map(([, slot]) => slot);
}

/** Whether the Job has such a slot. A Pod beyond is one that the Job controller is about to delete. */
export function isInside({ parallelism }: Job, index: number): boolean {
  return index < parallelism;
}

/** Pods that run at the same time when the stage is complete: of the Jobs that are there, and of those that JobSet will make. */
export function expectedSlots({ stage, startedJobs, startedSlots }: StageTally): number {
  return startedSlots + Math.max(0, stage.jobs - startedJobs) * stage.podsPerJob;
}

function countingTally(group: Group, { job }: ChildJob): StageTally | undefined {
  const tally = group.stages.get(job.replicatedJob);
  return standingOfJob(job, group.jobSet, tally) === "counts" ? tally : undefined;
}

function changeSlot(group: Group, child: ChildJob, index: number | undefined, change: (slot: Slot) => void): void {
  if (index === undefined || !isInside(child.job, index)) return;
  const tally = countingTally(group, child);
  const slot = slotAt(child, index);
  if (tally !== undefined) addSlot(tally, slot, -1);
  change(slot);
  if (tally !== undefined) addSlot(tally, slot, 1);
}

function slotAt({ slots }: ChildJob, index: number): Slot {
  const known = slots.get(index);
  if (known !== undefined) return known;
  const slot: Slot = { live: new Set(), done: false };
  slots.set(index, slot);
  return slot;
}

function addSlot(tally: StageTally, slot: Slot, sign: Sign): void {
  if (slot.done) tally.done += sign;
  if (slot.done || slot.live.size > 0) tally.occupied += sign;
}
