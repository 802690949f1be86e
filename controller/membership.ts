// Who belongs to a group, proved by the chain of controllers Pod → Job → JobSet. Labels alone prove nothing: anybody who
// may create a Pod may write them. Pure.
import type { Job } from "../src/api/job.ts";
import type { JobSet } from "../src/api/jobset.ts";
import { isTrue } from "../src/api/metadata.ts";
import type { Pod } from "../src/api/pod.ts";
import { workerStatuses } from "./detect.ts";
import type { Run, StageTally, Standing } from "./group.ts";

/** `ending`: it belongs to the group, but runs no further Pods. */
export type JobStanding = "counts" | "ending" | "outside";

export function standingOfJob(job: Job, jobSet: JobSet | undefined, tally: StageTally | undefined): JobStanding {
  if (jobSet === undefined || job.controller?.uid !== jobSet.uid || tally?.stage.participates !== true)
    return "outside";
  return isRecreated(job) || job.suspended ? "ending" : "counts";
}

/** JobSet deletes a Job only to make it anew (or at its own end), and counts that itself. */
export function isRecreated(job: Job): boolean {
  return job.deletionTimestamp !== undefined || job.outcome === "Failed";
}

export function standingOfPod(pod: Pod, job: JobStanding): Standing {
  if (job === "outside") return "outside";
  if (pod.phase === "Succeeded") return "succeeded";
  if (pod.phase === "Failed") return "failed";
  return pod.deletion !== undefined || job === "ending" ? "ending" : "live";
}

/** The container runs of a Pod, each with the event that first showed it. One per container: an older one never returns. */
export function runsOf(pod: Pod, before: ReadonlyMap<string, Run>, tick: number): ReadonlyMap<string, Run> {
  const runs = new Map(before);
  for (const { name, init, containerID } of pod.containers) {
    if (init || containerID === undefined || runs.get(name)?.id === containerID) continue;
    runs.set(name, { id: containerID, seenAt: tick });
  }
  return runs;
}

/**
 * Whether every worker runs, or has succeeded, in the Pod's present epoch. A run that was known before the Pod published
 * that epoch is an earlier one, which an old status still shows.
 */
export function isRunning(
  pod: Pod,
  workers: readonly string[],
  runs: ReadonlyMap<string, Run>,
  publishedAt: number,
): boolean {
  const statuses = workerStatuses(pod, workers);
  return (
    statuses.length === workers.length &&
    statuses.every(({ name, state }) => {
      const run = runs.get(name);
      if (run === undefined || run.seenAt < publishedAt) return false;
      return state.kind === "running" || (state.kind === "terminated" && state.exitCode === 0);
    })
  );
}

export function isReady(pod: Pod): boolean {
  return isTrue(pod.conditions, "Ready");
}
