// Takes what the watches deliver into the group. The only writer of a Group; decides nothing. Objects of different kinds
// may arrive in any order (a Pod before its Job), versions of one object arrive in order. Times are milliseconds since 1970.
import type { InPlaceRestart } from "../src/api/in-place-restart.ts";
import type { Job } from "../src/api/job.ts";
import type { JobSet } from "../src/api/jobset.ts";
import type { Pod } from "../src/api/pod.ts";
import { type Finding, findFailure } from "./detect.ts";
import { epochOf } from "./epochs.ts";
import { type ChildJob, type Group, type Member, newTally } from "./group.ts";
import {
  isReady,
  isRecreated,
  isRunning,
  mayBeOld,
  restartsOf,
  runsOf,
  standingOfJob,
  standingOfPod,
  standingOfUnknownJob,
} from "./membership.ts";
import { enterSlots, leaveSlots, slotName, tallyMember } from "./slots.ts";
import { stagesOf } from "./stages.ts";

export function observeJobSet(group: Group, jobSet: JobSet | undefined, now: number): void {
  group.tick += 1;
  const stages = jobSet === undefined ? [] : stagesOf(jobSet);
  const known = [...group.stages.values()].map(({ stage }) => stage);
  if (group.jobSet?.uid !== jobSet?.uid) {
    group.losses.clear();
    group.suspensionSeen = false;
  } else if (JSON.stringify(stages) === JSON.stringify(known)) {
    // The usual case. What shapes a group is immutable, except the size of an elastic JobSet.
    group.jobSet = jobSet;
    if (jobSet?.suspended === true) group.suspensionSeen = true;
    return;
  }
  const children = [...group.jobs.values()];
  for (const child of children) leave(group, child);
  group.jobSet = jobSet;
  group.suspensionSeen ||= jobSet?.suspended === true;
  group.stages = new Map(stages.map((stage) => [stage.name, newTally(stage)]));
  for (const child of children) enter(group, child, now);
  for (const uid of group.podsByJob.keys()) if (!group.jobs.has(uid)) placeAll(group, uid, now);
}

export function observeJob(group: Group, job: Job, now: number): void {
  group.tick += 1;
  const before = group.jobs.get(job.uid);
  if (before !== undefined) leave(group, before);
  const child = { job, slots: before?.slots ?? new Map() };
  group.jobs.set(job.uid, child);
  enter(group, child, now);
}

export function forgetJob(group: Group, uid: string, now: number): void {
  group.tick += 1;
  const child = group.jobs.get(uid);
  if (child === undefined) return;
  leave(group, child);
  for (const member of membersOf(group, uid)) noteVanished(group, member, now);
  blameRecreation(group, uid);
  group.jobs.delete(uid);
  placeAll(group, uid, now);
}

export function observePod(group: Group, pod: Pod, now: number): void {
  group.tick += 1;
  const before = group.members.get(pod.uid);
  if (before !== undefined) tallyMember(group, before, -1);
  const siblings = group.podsByJob.get(jobOf(pod)) ?? new Set();
  group.podsByJob.set(jobOf(pod), siblings.add(pod.uid));
  if (pod.epoch.kind === "malformed") group.malformed.add(pod.uid);
  else group.malformed.delete(pod.uid);
  place(group, pod, now);
}

export function forgetPod(group: Group, uid: string, now: number): void {
  group.tick += 1;
  const member = group.members.get(uid);
  if (member === undefined) return;
  tallyMember(group, member, -1);
  const siblings = group.podsByJob.get(jobOf(member.pod));
  siblings?.delete(uid);
  if (siblings?.size === 0) group.podsByJob.delete(jobOf(member.pod));
  group.members.delete(uid);
  group.malformed.delete(uid);
  group.ending.delete(uid);
  group.reported.delete(uid);
  noteVanished(group, member, now);
}

export function observeObject(group: Group, object: InPlaceRestart | undefined, now: number): void {
  group.tick += 1;
  const before = group.object;
  group.object = object;
  if (object?.resourceVersion !== before?.resourceVersion) group.objectChangedAt = now;
  const synced = object?.status?.syncedEpoch;
  const syncedBefore = before?.status?.syncedEpoch;
  // The first sight of an object does not tell how long its epoch has been running; only a change begins a new one.
  if (synced === undefined || syncedBefore === undefined || synced <= syncedBefore) return;
  group.baseline = group.tick;
  group.suspensionSeen = group.jobSet?.suspended === true;
  for (const [uid, loss] of group.losses) if (loss.epoch < synced) group.losses.delete(uid);
}

/** Remembers what was reported about a Pod, so that it is said once. */
export function noteReported(group: Group, uid: string, text: string): void {
  if (group.members.has(uid)) group.reported.set(uid, text);
}

function jobOf(pod: Pod): string {
  return pod.controller?.uid ?? "";
}

function membersOf(group: Group, jobUid: string): readonly Member[] {
  return [...(group.podsByJob.get(jobUid) ?? [])].flatMap((uid) => group.members.get(uid) ?? []);
}

function leave(group: Group, child: ChildJob): void {
  for (const member of membersOf(group, child.job.uid)) tallyMember(group, member, -1);
  leaveSlots(group, child);
}

function enter(group: Group, child: ChildJob, now: number): void {
  enterSlots(group, child);
  if (isRecreated(child.job)) blameRecreation(group, child.job.uid);
  placeAll(group, child.job.uid, now);
}

function placeAll(group: Group, jobUid: string, now: number): void {
  for (const { pod } of membersOf(group, jobUid)) place(group, pod, now);
}

/** JobSet makes the Job anew and counts that itself: what its Pods lost is not counted twice. */
function blameRecreation(group: Group, jobUid: string): void {
  for (const [uid, loss] of group.losses) if (loss.job === jobUid) group.losses.set(uid, { ...loss, counted: false });
}

/** Whether the slot is done, or another Pod has taken it in the same epoch: then nothing is lost to the group. */
function isFilled(group: Group, { job, slots }: ChildJob, index: number, epoch: number): boolean {
  if (slots.get(index)?.done === true) return true;
  // The Job that JobSet made in the place of another has its name.
  const jobs = [...group.jobs.values()].filter((child) => child.job.name === job.name);
  const live = jobs.flatMap((child) => [...(child.slots.get(index)?.live ?? [])]);
  return live.some((uid) => epochOf(group.members.get(uid)) === epoch);
}

/** A Pod that takes a slot in some epoch makes good what an earlier one lost in that epoch, before anything ran. */
function supersede(group: Group, pod: Pod): void {
  const { epoch, completionIndex, controller } = pod;
  if (epoch.kind !== "present") return;
  const slot = slotName(controller?.name, completionIndex);
  for (const [uid, loss] of group.losses) {
    if (loss.slot === slot && loss.epoch === epoch.epoch && uid !== pod.uid) group.losses.delete(uid);
  }
}

/** A Pod is gone, and no end of it was seen, as when somebody forces its deletion. */
function noteVanished(group: Group, member: Member, now: number): void {
  const { pod, standing } = member;
  if (standing !== "live" && (standing !== "ending" || group.losses.has(pod.uid))) return;
  noteLoss(group, member, { cause: { reason: "PodDeleted", pod: pod.name }, counted: true, ask: "restart" }, now);
}

/** Judges a Pod by what is known now, counts it, and keeps or drops the evidence it gives. */
function place(group: Group, pod: Pod, now: number): void {
  const before = group.members.get(pod.uid);
  const child = group.jobs.get(jobOf(pod));
  const stage = child === undefined ? undefined : group.stages.get(child.job.replicatedJob);
  const workers = stage?.stage.workers ?? [];
  const runs = runsOf(pod, before?.runs ?? new Map(), group.tick);
  const { jobSet } = group;
  const job = child === undefined ? standingOfUnknownJob(pod, jobSet) : standingOfJob(child.job, jobSet, stage);
  const standing = standingOfPod(pod, job);
  const isSameEpoch = before !== undefined && epochOf(before) === epochOf({ pod });
  const publishedAt = isSameEpoch ? before.publishedAt : group.tick;
  const running = standing === "live" && isRunning(pod, workers, runs, publishedAt);
  const restarts = restartsOf(pod, before);
  const firstSeenAt = before?.firstSeenAt ?? group.tick;
  const ready = running && isReady(pod);
  const member: Member = { pod, firstSeenAt, publishedAt, restarts, runs, standing, running, ready };
  group.members.set(pod.uid, member);
  if (standing === "ending") group.ending.add(pod.uid);
  else group.ending.delete(pod.uid);
  tallyMember(group, member, 1);
  if (standing === "live") supersede(group, pod);
  // Without its Job a Pod proves nothing, but neither does it take back what it proved before.
  if (child === undefined) return;
  const context = { exits: stage?.stage.exits ?? {}, jobEnds: isRecreated(child.job) };
  const finding = standing === "outside" ? undefined : findFailure(pod, context);
  if (finding === undefined) group.losses.delete(pod.uid);
  else noteLoss(group, member, finding, now);
}

function noteLoss(group: Group, member: Member, finding: Finding, now: number): void {
  const { pod } = member;
  const child = group.jobs.get(jobOf(pod));
  if (child === undefined || pod.completionIndex === undefined || pod.epoch.kind !== "present") return;
  if (finding.containerID === undefined && isFilled(group, child, pod.completionIndex, pod.epoch.epoch)) return;
  const run = [...member.runs.values()].find(({ id }) => id === finding.containerID);
  const runSeenAt = run === undefined || mayBeOld(member, run) ? 0 : run.seenAt;
  const before = group.losses.get(pod.uid);
  group.losses.set(pod.uid, {
    ...finding,
    stage: child.job.replicatedJob,
    epoch: pod.epoch.epoch,
    job: child.job.uid,
    slot: slotName(child.job.name, pod.completionIndex),
    ...(finding.containerID === undefined ? {} : { runSeenAt }),
    at: before?.epoch === pod.epoch.epoch ? before.at : now,
  });
}
