// The success policy of the JobSet: whether its targets are done, and whether they may be without anyone having seen it
// yet. Peers of a driver often crash because it has left. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import { epochRuns } from "./epochs.ts";
import { isProof } from "./evidence.ts";
import type { ChildJob, Group, Loss } from "./group.ts";
import { isRecreated } from "./membership.ts";
import { expectedSlots, isInside } from "./slots.ts";

/**
 * How long a crash waits for the report of a success. Each kubelet looks for exits once a second and reports on its
 * own, so the crash of a peer may be seen up to two seconds before the success that caused it.
 */
const SUCCESS_REPORT_MS = 2_000;

/** Whether the success policy is met: JobSet's controller is about to complete the JobSet. */
export function hasSucceeded(group: Group): boolean {
  const targets = targetsOf(group);
  if (isAny(group)) return targets.some((name) => isBegun(group, name) && doneJobs(group, name) > 0);
  const required = targets.reduce((sum, name) => sum + (group.stages.get(name)?.stage.jobs ?? 0), 0);
  return required > 0 && targets.every((name) => isStageDone(group, name));
}

/**
 * Until when a crash waits for the success that may have caused it. Undefined where a crash cannot be a consequence of
 * success: most JobSets succeed only when every Pod does.
 */
export function successAwaitedUntil(group: Group, status: InPlaceRestartStatus, now: number): number | undefined {
  if (group.jobSet?.successPolicy === undefined || group.losses.size === 0 || !epochRuns(status)) return undefined;
  const losses = [...group.losses.values()].filter((loss) => isProof(group, loss, status, now));
  if (losses.length === 0 || !losses.every(isCrash) || preventSuccess(group, losses)) return undefined;
  return Math.min(...losses.map(({ at }) => at)) + SUCCESS_REPORT_MS;
}

function isCrash({ cause }: Loss): boolean {
  return cause.reason === "ContainerExited" || cause.reason === "PodFailed";
}

/** Whether the targets cannot be done any more with these Pods lost. */
function preventSuccess(group: Group, losses: readonly Loss[]): boolean {
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
function isStageDone(group: Group, name: string): boolean {
  const tally = group.stages.get(name);
  if (tally === undefined) return true;
  if (tally.stage.participates) return tally.done >= expectedSlots(tally);
  return doneJobs(group, name) >= tally.stage.jobs;
}

/** Cheap: most of the time no Pod is done, and no Job has to be looked at. */
function isBegun(group: Group, name: string): boolean {
  const tally = group.stages.get(name);
  return tally !== undefined && (!tally.stage.participates || tally.done > 0);
}

function doneJobs({ jobs, jobSet }: Group, stage: string): number {
  return [...jobs.values()].filter((child) => {
    const { replicatedJob, controller } = child.job;
    return replicatedJob === stage && controller?.uid === jobSet?.uid && isJobDone(child);
  }).length;
}

function isJobDone({ job, slots }: ChildJob): boolean {
  if (isRecreated(job)) return false;
  if (job.outcome === "Complete") return true;
  const slotsDone = [...slots].filter(([index, slot]) => slot.done && isInside(job, index)).length;
  // The Job controller counts the last Pod before it writes that the Job is complete.
  const done = Math.max(slotsDone, job.succeeded);
  return done > 0 && done >= (job.completions ?? job.parallelism);
}
