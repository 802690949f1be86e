// Records what the watches deliver in the group. The only writer of a Group; decides nothing. Objects of different
// kinds may arrive in any order (a Pod before its Job); versions of one object arrive in order. Times are milliseconds
// since 1970.
import { formatHangReport } from "../../src/api/hang-report.ts";
import type { InPlaceRestart } from "../../src/api/in-place-restart.ts";
import type { Job } from "../../src/api/job.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import type { Pod } from "../../src/api/pod.ts";
import { epochOf, epochRuns } from "./epochs.ts";
import { endOfGrace, savesUntil } from "./grace.ts";
import { type ChildJob, type Group, type Member, newTally, type Run } from "./group.ts";
import { addTo, removeFrom } from "./index-sets.ts";
import { leftoversText } from "./leftovers.ts";
import { dropLoss, keepLoss, lossesOfJob, lossesOfSlot, startEpoch, withdrawLoss } from "./loss-index.ts";
import { dropMember, keepMember } from "./member-index.ts";
import {
  isPaused,
  isReady,
  isRunning,
  isSameForPods,
  isStopping,
  jobState,
  mayBeOld,
  memberState,
  restartedRun,
  restartsOf,
  runsOf,
  unknownJobState,
} from "./membership.ts";
import { findFailure, type PodFailure, placeOf } from "./pod-failure.ts";
import { enterSlots, isInside, isSameInTally, leaveSlots, slotName, tallyMember } from "./slots.ts";
import { stagesOf } from "./stages.ts";
import { differInSummaryOnly } from "./summary-change.ts";
import { terminationOf } from "./termination.ts";

export function observeJobSet(group: Group, jobSet: JobSet | undefined, now: number): void {
  group.tick += 1;
  const stages = jobSet === undefined ? [] : stagesOf(jobSet);
  const known = [...group.stages.values()].map(({ stage }) => stage);
  if (group.jobSet?.uid !== jobSet?.uid) {
    for (const uid of [...group.losses.keys(), ...group.firstLosses.keys()]) dropLoss(group, uid);
    group.told.clear();
    group.suspensionSeen = false;
  } else if (JSON.stringify(stages) === JSON.stringify(known)) {
    // The usual case: only the size of an elastic JobSet can change the shape of a group.
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
  if (before !== undefined && isSameForPods(before.job, job)) {
    // The usual case: only its counts have changed. A Job may have thousands of Pods.
    group.jobs.set(job.uid, { ...before, job });
    return;
  }
  if (before !== undefined) leave(group, before);
  const child = { job, slots: before?.slots ?? new Map() };
  group.jobs.set(job.uid, child);
  addTo(group.jobsByName, job.name, job.uid);
  enter(group, child, now);
}

export function forgetJob(group: Group, uid: string, now: number): void {
  group.tick += 1;
  const child = group.jobs.get(uid);
  if (child === undefined) return;
  leave(group, child);
  for (const member of membersOf(group, uid)) noteVanished(group, member, now);
  uncountLosses(group, uid, () => true);
  group.jobs.delete(uid);
  removeFrom(group.jobsByName, child.job.name, uid);
  placeAll(group, uid, now);
}

export function observePod(group: Group, pod: Pod, now: number): void {
  group.tick += 1;
  const before = group.members.get(pod.uid);
  if (before === undefined || jobOf(before.pod) !== jobOf(pod)) addTo(group.podsByJob, jobOf(pod), pod.uid);
  place(group, pod, before, now);
}

export function forgetPod(group: Group, uid: string, now: number): void {
  group.tick += 1;
  const member = group.members.get(uid);
  if (member === undefined) return;
  tallyMember(group, member, -1);
  removeFrom(group.podsByJob, jobOf(member.pod), uid);
  dropMember(group, member);
  group.reported.delete(uid);
  group.told.delete(uid);
  noteVanished(group, member, now);
}

export function observeObject(group: Group, object: InPlaceRestart | undefined, now: number): void {
  group.tick += 1;
  const before = group.object;
  group.object = object;
  if (object?.resourceVersion !== before?.resourceVersion) {
    group.objectChangedAt = now;
    const [status, earlier] = [object?.status, before?.status];
    if (status !== undefined && earlier !== undefined && differInSummaryOnly(earlier, status))
      group.summaryChangedAt = now;
  }
  if (object?.status !== undefined && epochRuns(object.status)) group.watchedEpoch = object.status.syncedEpoch;
  if (object?.status?.deprecatedEpoch !== before?.status?.deprecatedEpoch) group.deprecationSeenAt = group.tick;
  const synced = object?.status?.syncedEpoch;
  const syncedBefore = before?.status?.syncedEpoch;
  // The first event of an object does not show how long its epoch has been running. Only a change starts a new one.
  if (synced === undefined || syncedBefore === undefined || synced <= syncedBefore) return;
  group.baseline = group.tick;
  group.suspensionSeen = group.jobSet?.suspended === true;
  group.told.clear();
  startEpoch(group, synced);
}

/** Remembers what was reported about a Pod, so that it is reported once. */
export function noteReported(group: Group, uid: string, reason: string, text: string): void {
  const member = group.members.get(uid);
  if (member === undefined) return;
  if (text === leftoversText(member.pod)) group.newLeftovers.delete(uid);
  const known = group.reported.get(uid);
  if (known === undefined) group.reported.set(uid, new Map([[reason, text]]));
  else known.set(reason, text);
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
  // A scale-down or a suspension deletes Pods without a failure, and JobSet counts its own recreations.
  uncountLosses(group, child.job.uid, (index) => isPaused(child.job) || !isInside(child.job, index));
  placeAll(group, child.job.uid, now);
}

function placeAll(group: Group, jobUid: string, now: number): void {
  for (const { pod } of membersOf(group, jobUid)) place(group, pod, undefined, now);
}

/** The losses at these indexes of the Job do not count towards the budget. */
function uncountLosses(group: Group, jobUid: string, applies: (index: number) => boolean): void {
  for (const [uid, loss] of lossesOfJob(group, jobUid))
    if (applies(loss.index)) keepLoss(group, uid, { ...loss, counted: false });
}

/** Whether the slot is done, or another Pod holds it in the same epoch: then the group has lost nothing. */
function isFilled(group: Group, { job, slots }: ChildJob, index: number, epoch: number): boolean {
  if (slots.get(index)?.done === true) return true;
  const namesakes = [...(group.jobsByName.get(job.name) ?? [])];
  const live = namesakes.flatMap((uid) => [...(group.jobs.get(uid)?.slots.get(index)?.live ?? [])]);
  return live.some((uid) => epochOf(group.members.get(uid)) === epoch);
}

/** A Pod that takes a slot in an epoch repairs what an earlier Pod of the slot lost in that epoch, before it ran. */
function supersede(group: Group, pod: Pod): void {
  const { epoch, completionIndex, controller } = pod;
  if (epoch.kind !== "present" || group.losses.size === 0) return;
  for (const [uid, loss] of lossesOfSlot(group, slotName(controller?.name, completionIndex))) {
    if (loss.epoch === epoch.epoch && uid !== pod.uid) dropLoss(group, uid);
  }
}

/** The Pod is gone without an event that showed its end, as after a forced deletion. */
function noteVanished(group: Group, member: Member, now: number): void {
  const { pod, state } = member;
  if (state !== "live" && state !== "ending") return;
  const known = state === "ending" ? group.losses.get(pod.uid) : undefined;
  if (known !== undefined) {
    // Its workers have ended only now.
    if (member.savesUntil !== undefined) keepLoss(group, pod.uid, { ...known, at: now });
    return;
  }
  const cause = { reason: "PodDeleted", ...placeOf(pod) } as const;
  noteLoss(group, member, member, { cause, counted: true, requestedAction: "restart" }, now);
}

/**
 * Determines the state of a Pod from what is known now, counts the Pod, and keeps or drops the loss it shows. `tallied`
 * is what the counts still include of it.
 */
function place(group: Group, pod: Pod, tallied: Member | undefined, now: number): void {
  const before = group.members.get(pod.uid);
  const child = group.jobs.get(jobOf(pod));
  const stage = child === undefined ? undefined : group.stages.get(child.job.replicatedJob);
  const workers = stage?.stage.workers ?? [];
  const runs = runsOf(pod, before?.runs ?? NO_RUNS, group.tick);
  const { jobSet } = group;
  const job = child === undefined ? unknownJobState(pod, jobSet) : jobState(child.job, jobSet, stage);
  const state = memberState(pod, job);
  const isSameEpoch = before !== undefined && epochOf(before) === epochOf({ pod });
  const publishedAt = isSameEpoch ? before.publishedAt : group.tick;
  const epochSince = isSameEpoch ? before.epochSince : now;
  const running = state === "live" && isRunning(pod, workers, runs, publishedAt);
  const restarts = restartsOf(pod, before);
  const firstSeenAt = before?.firstSeenAt ?? group.tick;
  const ready = running && isReady(pod);
  const graceEnd = state === "ending" ? graceEndOf(pod, before) : undefined;
  const hangSeenAt = hangSeen(pod, before, now);
  const placed = {
    pod,
    firstSeenAt,
    publishedAt,
    epochSince,
    restarts,
    runs,
    state,
    running,
    ready,
    ...(graceEnd === undefined ? {} : { graceEnd }),
    ...(hangSeenAt === undefined ? {} : { hangSeenAt }),
  };
  // A Pod whose Job is gone still has its workers, so its label names the stage.
  const saves = savesUntil(placed, group.stages.get(pod.replicatedJob)?.stage.workers ?? [], before, now);
  const member: Member = saves === undefined ? placed : { ...placed, savesUntil: saves };
  keepMember(group, member);
  if (tallied === undefined || !isSameInTally(tallied, member)) {
    if (tallied !== undefined) tallyMember(group, tallied, -1);
    tallyMember(group, member, 1);
  }
  if (state === "live" || state === "succeeded") supersede(group, pod);
  if (isStopping(member, stage?.stage.agentExitCode, group.baseline)) group.told.add(pod.uid);
  // A Pod without its Job proves nothing new, and does not revoke what it proved before.
  if (child === undefined) return;
  const context = { exits: stage?.stage.exits ?? {}, jobEnds: isPaused(child.job) };
  const failure = state === "outside" ? undefined : (findFailure(pod, context) ?? findRestart(group, member, before));
  if (failure !== undefined) noteLoss(group, member, before, failure, now);
  else if (state === "outside" || !hasCrashed(group, pod)) withdrawLoss(group, pod.uid, running);
}

/** No agent is told to restart while the epoch runs. A view that lags behind is corrected when blame is settled. */
function findRestart({ object, baseline }: Group, member: Member, before: Member | undefined): PodFailure | undefined {
  const status = object?.status;
  if (status === undefined || !epochRuns(status) || epochOf(member) !== status.syncedEpoch) return undefined;
  const containerID = before === undefined ? undefined : restartedRun(member, before, baseline);
  if (containerID === undefined) return undefined;
  const cause = { reason: "PodRestarted", ...placeOf(member.pod) } as const;
  return { cause, counted: true, requestedAction: "restart", containerID };
}

const NO_RUNS: Member["runs"] = new Map();

/** Parsed once for each deletion: a Pod that is ending still has several events. */
function graceEndOf(pod: Pod, before: Member | undefined): number | undefined {
  const isKnown = before?.graceEnd !== undefined && before.pod.deletion?.timestamp === pod.deletion?.timestamp;
  return isKnown ? before.graceEnd : endOfGrace(pod);
}

/** The same report counts from when it was first seen. */
function hangSeen(pod: Pod, before: Member | undefined, now: number): number | undefined {
  if (pod.hang === undefined) return undefined;
  const last = before?.pod.hang;
  const isSame = last !== undefined && formatHangReport(last) === formatHangReport(pod.hang);
  return isSame ? before?.hangSeenAt : now;
}

function findRun({ runs }: Member, id: string): Run | undefined {
  for (const run of runs.values()) if (run.id === id) return run;
  return undefined;
}

/** A failure that was seen has ended its epoch, even when the next status shows its Pod restarting in place. */
function hasCrashed(group: Group, { uid, deletion, phase }: Pod): boolean {
  const loss = group.losses.get(uid);
  const reason = loss?.cause.reason;
  if (loss === undefined || (reason !== "ContainerExited" && reason !== "PodRestarted")) return false;
  if (loss.requestedAction !== "restart") return false;
  return deletion === undefined && phase !== "Succeeded" && (loss.runSeenAt ?? 0) > group.baseline;
}

function noteLoss(group: Group, member: Member, last: Member | undefined, failure: PodFailure, now: number): void {
  const { pod } = member;
  const { completionIndex: index, epoch } = pod;
  const child = group.jobs.get(jobOf(pod));
  if (child === undefined || index === undefined || epoch.kind !== "present") return;
  if (failure.containerID === undefined && isFilled(group, child, index, epoch.epoch)) return;
  const surplus = !isInside(child.job, index);
  // No Pod replaces it, and none of its workers ran in that epoch.
  if (surplus && epoch.epoch > (group.object?.status?.syncedEpoch ?? 0)) {
    dropLoss(group, pod.uid);
    return;
  }
  const run = failure.containerID === undefined ? undefined : findRun(member, failure.containerID);
  const runSeenAt = run === undefined || mayBeOld(member, run) ? 0 : run.seenAt;
  const before = group.losses.get(pod.uid);
  // The Pod has taken the next epoch, and its status still shows how the last one ended.
  if (before?.containerID !== undefined && before.containerID === failure.containerID && before.epoch < epoch.epoch)
    return;
  // Once known not to count, it stays so: the Job that was suspended may be resumed before the Pod is gone.
  const wasUncounted = before?.epoch === epoch.epoch && !before.counted;
  const { agentExitCode } = group.stages.get(child.job.replicatedJob)?.stage ?? {};
  const termination = terminationOf(pod, failure.cause.container, agentExitCode);
  const { message } = termination ?? {};
  keepLoss(group, pod.uid, {
    ...failure,
    cause: { ...failure.cause, ...(message === undefined ? {} : { message }) },
    ...(termination === undefined ? {} : { termination }),
    counted: failure.counted && !surplus && !wasUncounted,
    stage: child.job.replicatedJob,
    epoch: epoch.epoch,
    job: child.job.uid,
    slot: slotName(child.job.name, index),
    index,
    ...(failure.containerID === undefined ? {} : { runSeenAt }),
    // A Pod that was going away is lost when its workers have ended.
    at: before?.epoch === epoch.epoch && last?.savesUntil === undefined ? before.at : now,
  });
}
