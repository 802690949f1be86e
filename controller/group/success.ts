// The success policy of the JobSet: whether its targets are done, and whether they may be without anyone having seen it
// yet. Peers of a driver often crash because it has left. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import { epochRuns } from "./epochs.ts";
import { proofs } from "./evidence.ts";
import type { ChildJob, Group, Loss } from "./group.ts";
import { isRecreated } from "./membership.ts";
import { unseenCrashes } from "./own-crash.ts";
import { expectedSlots, isInside } from "./slots.ts";

/**
 * How long a crash waits for the report of a success. Each kubelet looks for exits once a second and reports on its
 * own, so the crash of a peer may be seen before the success that caused it: up to two seconds, more on a busy node.
 */
const SUCCESS_REPORT_MS = 3_000;

/** The Pods of a target without agents are not watched. Its Job controller counts them, in batches of a second. */
const JOB_REPORT_MS = 2_000;

/** Whether the success policy is met: JobSet's controller is about to complete the JobSet. */
export function hasSucceeded(group: Group, status: InPlaceRestartStatus): boolean {
  const targets = targetsOf(group);
  const finishing = finishingSlots(group, status);
  if (isAny(group)) {
    return targets.some((name) => isBegun(group, name, finishing) && doneJobs(group, name, finishing) > 0);
  }
  const required = targets.reduce((sum, name) => sum + (group.stages.get(name)?.stage.jobs ?? 0), 0);
  return required > 0 && targets.every((name) => isStageDone(group, name, finishing));
}

/** Slots whose Pod is about to succeed, by Job. */
type FinishingSlots = ReadonlyMap<string, number>;

/**
 * A kubelet reports that the containers of a Pod have ended with 0 up to a second before the Pod has succeeded, because
 * it stops the agent in between. Asked only where it matters: a Pod was lost, and others may succeed without it.
 */
function finishingSlots(group: Group, status: InPlaceRestartStatus): FinishingSlots {
  const finishing = new Map<string, number>();
  const mayMatter = group.losses.size > 0 || !epochRuns(status);
  if (group.jobSet?.successPolicy === undefined || !mayMatter) return finishing;
  for (const uid of group.finishing) {
    const { controller, completionIndex } = group.members.get(uid)?.pod ?? {};
    const child = group.jobs.get(controller?.uid ?? "");
    if (child === undefined || completionIndex === undefined) continue;
    if (child.slots.get(completionIndex)?.done === true) continue;
    finishing.set(child.job.uid, (finishing.get(child.job.uid) ?? 0) + 1);
  }
  return finishing;
}

/**
 * Until when a crash waits for the success that may have caused it. Undefined where a crash cannot be a consequence of
 * success: most JobSets succeed only when every Pod does.
 */
export function successAwaitedUntil(group: Group, status: InPlaceRestartStatus, now: number): number | undefined {
  if (group.jobSet?.successPolicy === undefined || !epochRuns(status)) return undefined;
  const losses = [...proofs(group, status, now)].map(([, loss]) => loss);
  const crashes = [...losses, ...unseenCrashes(group, status)];
  if (crashes.length === 0 || !losses.every(isCrash) || preventSuccess(group, crashes)) return undefined;
  const isPlain = targetsOf(group).some((name) => group.stages.get(name)?.stage.participates === false);
  return Math.min(...crashes.map(({ at }) => at)) + SUCCESS_REPORT_MS + (isPlain ? JOB_REPORT_MS : 0);
}

function isCrash({ cause }: Loss): boolean {
  return cause.reason === "ContainerExited" || cause.reason === "PodFailed" || cause.reason === "PodRestarted";
}

/** Whether the targets can no longer be done with these Pods lost. */
function preventSuccess(group: Group, losses: readonly Pick<Loss, "stage" | "job">[]): boolean {
  const targets = new Set(targetsOf(group));
  const lost = losses.filter(({ stage }) => targets.has(stage));
  if (!isAny(group)) return lost.length > 0;
  const jobs = [...targets].reduce((sum, name) => sum + (group.stages.get(name)?.stage.jobs ?? 0), 0);
  return new Set(lost.map(({ job }) => job)).size >= jobs;
}

function isAny({ jobSet }: Group): boolean {
  return jobSet?.successPolicy?.operator === "Any";
}

function targetsOf({ jobSet, stages }: Group): readonly string[] {
  const named = jobSet?.successPolicy?.targetReplicatedJobs ?? [];
  return named.length === 0 ? [...stages.keys()] : named.filter((name) => stages.has(name));
}

/** A slot is done before its Job is complete: the counts show it first. */
function isStageDone(group: Group, name: string, finishing: FinishingSlots): boolean {
  const tally = group.stages.get(name);
  if (tally === undefined) return true;
  if (finishing.size === 0 && tally.stage.participates) return tally.done >= expectedSlots(tally);
  return doneJobs(group, name, finishing) >= tally.stage.jobs;
}

/** Cheap: most of the time no Pod is done, and no Job has to be looked at. */
function isBegun(group: Group, name: string, finishing: FinishingSlots): boolean {
  const tally = group.stages.get(name);
  return tally !== undefined && (!tally.stage.participates || tally.done > 0 || finishing.size > 0);
}

function doneJobs({ jobs, jobSet }: Group, stage: string, finishing: FinishingSlots): number {
  return [...jobs.values()].filter((child) => {
    const { uid, replicatedJob, controller } = child.job;
    return replicatedJob === stage && controller?.uid === jobSet?.uid && isJobDone(child, finishing.get(uid) ?? 0);
  }).length;
}

function isJobDone({ job, slots }: ChildJob, finishing: number): boolean {
  if (isRecreated(job)) return false;
  if (job.outcome === "Complete") return true;
  const slotsDone = [...slots].filter(([index, slot]) => slot.done && isInside(job, index)).length;
  // The Job controller counts the last Pod before it writes that the Job is complete.
  const done = Math.max(slotsDone + finishing, job.succeeded);
  return done > 0 && done >= (job.completions ?? job.parallelism);
}
