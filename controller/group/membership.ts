// Which Pods belong to a group, proved by their controllers: Pod to Job to JobSet. A Pod that only has the labels
// can be waited for but never counts: only the Job controller may create Pods with the member label
// (manifests/agent/policy-pods.yaml), but other users may change the remaining labels. Pure.
import type { Job } from "../../src/api/job.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { isTrue } from "../../src/api/metadata.ts";
import type { Pod } from "../../src/api/pod.ts";
import { epochOf } from "./epochs.ts";
import type { Member, MemberState, Run, StageTally } from "./group.ts";
import { agentOf, workerStatuses } from "./pod-failure.ts";

/** `ending`: the Job belongs to the group, but creates no more Pods. */
type JobState = "counts" | "ending" | "outside";

export function jobState(job: Job, jobSet: JobSet | undefined, tally: StageTally | undefined): JobState {
  if (jobSet === undefined || job.controller?.uid !== jobSet.uid || tally?.stage.participates !== true)
    return "outside";
  return isPaused(job) ? "ending" : "counts";
}

/**
 * The state of an unknown Job, derived from its Pod. The Job may be deleted while its Pods still terminate, or keep
 * running (`kubectl delete job --cascade=orphan`).
 */
export function unknownJobState({ injected, jobSetUid }: Pod, jobSet: JobSet | undefined): JobState {
  return injected && jobSetUid === jobSet?.uid ? "ending" : "outside";
}

/** JobSet deletes a Job only to recreate it, or when it finishes itself. It counts recreations on its own. */
export function isRecreated(job: Job): boolean {
  return job.deletionTimestamp !== undefined || job.outcome === "Failed";
}

/** Whether the Job's Pods go away and it creates no others for now: it is recreated or suspended. */
export function isPaused(job: Job): boolean {
  return isRecreated(job) || job.suspended;
}

/** Whether nothing has changed that the states of the Job's Pods and slots follow from. */
export function isSameForPods(before: Job, after: Job): boolean {
  return (
    before.name === after.name &&
    before.controller?.uid === after.controller?.uid &&
    before.replicatedJob === after.replicatedJob &&
    isPaused(before) === isPaused(after) &&
    before.outcome === after.outcome &&
    before.parallelism === after.parallelism &&
    JSON.stringify(before.completedIndexes) === JSON.stringify(after.completedIndexes)
  );
}

export function memberState(pod: Pod, job: JobState): MemberState {
  if (job === "outside") return "outside";
  if (pod.phase === "Succeeded") return "succeeded";
  if (pod.phase === "Failed") return "failed";
  return pod.deletion !== undefined || job === "ending" ? "ending" : "live";
}

/** The latest run of each worker container, with the event that first showed it. */
export function runsOf(pod: Pod, before: ReadonlyMap<string, Run>, tick: number): ReadonlyMap<string, Run> {
  let runs: Map<string, Run> | undefined;
  for (const { name, init, containerID, state } of pod.containers) {
    if (init || containerID === undefined || (runs ?? before).get(name)?.id === containerID) continue;
    runs ??= new Map(before);
    runs.set(name, { id: containerID, seenAt: tick, seenEnded: state.kind === "terminated" });
  }
  return runs ?? before;
}

/**
 * Lower bound of the Pod's restarts in place when it took its epoch. An agent takes one epoch per run and never
 * restarts alone, so every further epoch is one more restart. Unknown for a Pod that already had an epoch when first
 * seen, until it reports a new start, and for a Pod whose epoch is not the next one: the status was lost, or the epoch
 * is foreign.
 */
export function restartsOf(pod: Pod, before: Member | undefined): number | undefined {
  const reported = restartsAtLift(pod);
  if (before === undefined) return pod.epoch.kind === "absent" ? reported : undefined;
  if (before.restarts === undefined) {
    const isNew = reported > restartsAtLift(before.pod);
    return isNew && pod.containers.every(({ state }) => state.kind !== "terminated") ? reported : undefined;
  }
  const [epoch, last] = [epochOf({ pod }), epochOf(before)];
  const steps = epoch === undefined || last === undefined ? 0 : epoch - last;
  return steps === 0 || steps === 1 ? Math.max(before.restarts + steps, reported) : undefined;
}

/** An agent whose startup probe has succeeded has taken its epoch. One that still waits may not have. */
function restartsAtLift(pod: Pod): number {
  const agent = agentOf(pod);
  return agent?.state.kind === "running" && agent.started ? agent.restartCount : 0;
}

/**
 * Whether an ended run may have ended before the Pod took its epoch. The kubelet's report may be delayed for as long as
 * the API server is slow, and the whole group may have restarted in the meantime.
 */
export function mayBeOld({ pod, restarts, firstSeenAt }: Member, run: Run): boolean {
  // What the first event of a Pod shows may have happened in any epoch.
  if (run.seenAt <= firstSeenAt) return true;
  return restarts === undefined ? run.seenEnded : (agentOf(pod)?.restartCount ?? restarts) < restarts;
}

/** Whether the agent has exited because it was told to, while every worker of the epoch still ran. */
export function isStopping(member: Member, agentExitCode: number | undefined, baseline: number): boolean {
  const agent = agentOf(member.pod)?.state;
  if (agent?.kind !== "terminated" || agent.exitCode !== agentExitCode || !member.running) return false;
  return [...member.runs.values()].every((run) => run.seenAt > baseline && !mayBeOld(member, run));
}

/**
 * A run of a worker that was seen in the Pod's epoch, and that a restart in place has ended since. A kubelet may remove
 * the containers before it has reported how they ended: then only the restarts that it counts show it.
 */
export function restartedRun(member: Member, before: Member, baseline: number): string | undefined {
  const [known, reported] = [agentOf(before.pod), agentOf(member.pod)];
  if (member.state !== "live" || known === undefined || reported === undefined) return undefined;
  if (epochOf(before) !== epochOf(member) || reported.restartCount <= known.restartCount) return undefined;
  // A run that was known before the sync may belong to an earlier epoch.
  const runs = [...before.runs.values()];
  const isOfEpoch = before.running && before.restarts !== undefined;
  if (!isOfEpoch || runs.some((run) => run.seenAt <= baseline || mayBeOld(before, run))) return undefined;
  return runs[0]?.id;
}

/**
 * Whether every worker runs, or has succeeded, in the Pod's current epoch. A run that was known before the Pod
 * published the epoch belongs to an earlier one, which an outdated status still shows.
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

/**
 * Whether the Pod is about to succeed. A Pod that restarts in place stops its agent first: there, a worker may answer
 * the signal with 0.
 */
export function isFinishing({ pod, state, running }: Member): boolean {
  if (state !== "live" || !running || agentOf(pod)?.state.kind !== "running") return false;
  return pod.containers.every(({ init, state: each }) => init || (each.kind === "terminated" && each.exitCode === 0));
}
