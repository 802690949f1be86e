// Who belongs to a group, proved by the chain of controllers Pod → Job → JobSet. By its labels alone a Pod can be waited for,
// and never counts: only a Job controller may create Pods with the label of members (manifests/agent/policy-member.yaml), but
// others may change the rest of them. Pure.
import type { Job } from "../../src/api/job.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { isTrue } from "../../src/api/metadata.ts";
import type { Pod } from "../../src/api/pod.ts";
import { epochOf } from "./epochs.ts";
import type { Member, Run, StageTally, Standing } from "./group.ts";
import { agentOf, workerStatuses } from "./pod-failure.ts";

/** `ending`: it belongs to the group, but runs no further Pods. */
export type JobStanding = "counts" | "ending" | "outside";

export function standingOfJob(job: Job, jobSet: JobSet | undefined, tally: StageTally | undefined): JobStanding {
  if (jobSet === undefined || job.controller?.uid !== jobSet.uid || tally?.stage.participates !== true)
    return "outside";
  return isPaused(job) ? "ending" : "counts";
}

/**
 * Of a Job that is not known, as the Pod alone tells. It may be gone for good, and leaves its Pods behind: to end by and by, or to
 * run on (`kubectl delete job --cascade=orphan`).
 */
export function standingOfUnknownJob({ injected, jobSetUid }: Pod, jobSet: JobSet | undefined): JobStanding {
  return injected && jobSetUid === jobSet?.uid ? "ending" : "outside";
}

/** JobSet deletes a Job only to make it anew (or at its own end), and counts that itself. */
export function isRecreated(job: Job): boolean {
  return job.deletionTimestamp !== undefined || job.outcome === "Failed";
}

/** Whether its Pods go and it makes no others for now: it is recreated, or suspended, by itself or with its JobSet. */
export function isPaused(job: Job): boolean {
  return isRecreated(job) || job.suspended;
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
  for (const { name, init, containerID, state } of pod.containers) {
    if (init || containerID === undefined || runs.get(name)?.id === containerID) continue;
    runs.set(name, { id: containerID, seenAt: tick, seenEnded: state.kind === "terminated" });
  }
  return runs;
}

/**
 * The fewest restarts in place that a Pod had behind it when it took its epoch. An agent takes one epoch in its life and never
 * restarts alone, so every further epoch is one restart more. While an agent waits with its epoch the kubelet reports nothing, so one
 * that is said to run has taken an epoch. Of a Pod that had an epoch at first sight it is not known before it reports a new start, nor of one
 * whose epoch is not the next one: its group's state was lost, or somebody else wrote it.
 */
export function restartsOf(pod: Pod, before: Member | undefined): number | undefined {
  const agent = agentOf(pod);
  const reported = agent?.state.kind === "running" ? agent.restartCount : 0;
  if (before === undefined) return pod.epoch.kind === "absent" ? reported : undefined;
  if (before.restarts === undefined) {
    const isNew = reported > (agentOf(before.pod)?.restartCount ?? 0);
    return isNew && pod.containers.every(({ state }) => state.kind !== "terminated") ? reported : undefined;
  }
  const [epoch, last] = [epochOf({ pod }), epochOf(before)];
  const steps = epoch === undefined || last === undefined ? 0 : epoch - last;
  return steps === 0 || steps === 1 ? Math.max(before.restarts + steps, reported) : undefined;
}

/**
 * Whether a run that has ended may have done so before the Pod took its epoch. The kubelet may have a report on its way for as long as
 * the API server takes, and meanwhile the Pod has restarted, and all the others too.
 */
export function mayBeOld({ pod, restarts, firstSeenAt }: Member, run: Run): boolean {
  // What the very first sight of a Pod shows may have happened in any epoch.
  if (run.seenAt <= firstSeenAt) return true;
  return restarts === undefined ? run.seenEnded : (agentOf(pod)?.restartCount ?? restarts) < restarts;
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
