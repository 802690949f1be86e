// Counts the slots and live Pods of each stage, by adding and removing what one Pod or one Job contributes.
import type { Job } from "../../src/api/job.ts";
import { epochOf } from "./epochs.ts";
import type { ChildJob, Group, Member, Slot, StageTally } from "./group.ts";
import { jobState } from "./membership.ts";

type Sign = 1 | -1;

/** The name of a slot in messages and in the history: the Job's name and the completion index. */
export function slotName(job: string | undefined, index: number | undefined): string {
  return `${job ?? ""}/${index ?? ""}`;
}

/** Adds or removes one Pod. Removing the same member that was added restores the counts. */
export function tallyMember(group: Group, member: Member, sign: Sign): void {
  const { pod, state } = member;
  const child = group.jobs.get(pod.controller?.uid ?? "");
  const tally = child === undefined ? undefined : group.stages.get(child.job.replicatedJob);
  if (child === undefined || tally === undefined) return;
  switch (state) {
    case "live":
      tallyEpoch(tally, member, sign);
      tally.unaddressed += member.pod.awaitsAddress ? sign : 0;
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
      // Not undone when the Pod goes away: its index stays done.
      changeSlot(group, child, pod.completionIndex, (slot) => {
        slot.done = true;
      });
      return;
    case "failed":
    case "outside":
      return;
  }
}

/** Whether the counts need not change when a Pod that they include goes from one state to the other. */
export function isSameInTally(before: Member, after: Member): boolean {
  return (
    before.state === after.state &&
    before.running === after.running &&
    before.ready === after.ready &&
    before.pod.awaitsAddress === after.pod.awaitsAddress &&
    epochOf(before) === epochOf(after) &&
    before.pod.completionIndex === after.pod.completionIndex &&
    before.pod.controller?.uid === after.pod.controller?.uid
  );
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
 * Counts a Job and its slots; its Pods must have been removed before. A Job outside the group is not looked at: the
 * watch delivers the Jobs of all JobSets, and a Job that is not Indexed may have two billion slots.
 */
export function enterSlots(group: Group, child: ChildJob): void {
  const { job } = child;
  if (jobState(job, group.jobSet, group.stages.get(job.replicatedJob)) === "outside") return;
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

/** A Job that was scaled down has fewer slots than it had Pods. */
function countedSlots({ job, slots }: ChildJob): readonly Slot[] {
  return [...slots].filter(([index]) => isInside(job, index)).map(([, slot]) => slot);
}

/** Whether the Job has a slot with this index. The Job controller is about to delete a Pod beyond it. */
export function isInside({ parallelism }: Job, index: number): boolean {
  return index < parallelism;
}

/** Pods of the complete stage: those of the Jobs that exist, and of those that JobSet has yet to create. */
export function expectedSlots({ stage, startedJobs, startedSlots }: StageTally): number {
  return startedSlots + Math.max(0, stage.jobs - startedJobs) * stage.podsPerJob;
}

function countingTally(group: Group, { job }: ChildJob): StageTally | undefined {
  const tally = group.stages.get(job.replicatedJob);
  return jobState(job, group.jobSet, tally) === "counts" ? tally : undefined;
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
