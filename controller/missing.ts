// Who keeps a group or a stage of it waiting, and why, in words for people. Looks at every Pod: only for a wait that has
// stalled. Pure.
import type { Pod } from "../src/api/pod.ts";
import type { ChildJob, Group, StageTally } from "./group.ts";

/** As many as fit into an Event's 1 KB note with a long reason each. */
const MAX_NAMED = 5;

/** Such as "2 Pods are missing: train-workers-0-1-x (unschedulable: 0/4 nodes are available), job train-workers-1 index 3 (no Pod yet)". */
export function describeMissing(group: Group, stages: readonly StageTally[], epoch: number): string {
  const missing = [...absentJobs(stages), ...missingSlots(group, stages, epoch)];
  const named = missing.slice(0, MAX_NAMED).join(", ");
  const more = missing.length > MAX_NAMED ? ` and ${missing.length - MAX_NAMED} more` : "";
  return `${missing.length} missing: ${named}${more}`;
}

function absentJobs(stages: readonly StageTally[]): string[] {
  return stages
    .filter(({ stage, startedJobs }) => startedJobs < stage.jobs)
    .map(({ stage, startedJobs }) => `${stage.jobs - startedJobs} Jobs of ${stage.name} (not created by JobSet yet)`);
}

function missingSlots(group: Group, stages: readonly StageTally[], epoch: number): string[] {
  const due = new Set(stages.map(({ stage }) => stage.name));
  const missing: string[] = [];
  for (const child of group.jobs.values()) {
    if (!due.has(child.job.replicatedJob) || child.job.controller?.uid !== group.jobSet?.uid) continue;
    for (let index = 0; index < child.job.parallelism; index += 1)
      missing.push(...missingSlot(group, child, index, epoch));
  }
  return missing;
}

function missingSlot(group: Group, { job, slots }: ChildJob, index: number, epoch: number): string[] {
  if (slots.get(index)?.done === true) return [];
  const pods = [...(group.podsByJob.get(job.uid) ?? [])].flatMap((uid) => {
    const member = group.members.get(uid);
    const here = member?.pod.completionIndex === index;
    return member !== undefined && here && (member.standing === "live" || member.standing === "ending")
      ? member.pod
      : [];
  });
  if (pods.length === 0) return [`job ${job.name} index ${index} (no Pod yet)`];
  return pods.flatMap((pod) => {
    const reason = reasonFor(pod, epoch);
    return reason === undefined ? [] : `${pod.name} (${reason})`;
  });
}

function reasonFor(pod: Pod, epoch: number): string | undefined {
  if (pod.deletion !== undefined) return `terminating on ${pod.node ?? "no node"}`;
  if (pod.epoch.kind === "present" && pod.epoch.epoch === epoch) return undefined;
  const scheduled = pod.conditions.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False") return `${scheduled.reason}: ${scheduled.message}`;
  for (const { name, state } of pod.containers) {
    if (state.kind === "waiting" && !STARTING.has(state.reason)) return `container ${name}: ${state.reason}`;
  }
  if (pod.epoch.kind === "malformed") return "its epoch cannot be read";
  return pod.epoch.kind === "absent" ? "its agent has not taken an epoch" : `still at epoch ${pod.epoch.epoch}`;
}

/** What a container waits for in any start. */
const STARTING: ReadonlySet<string> = new Set(["", "PodInitializing", "ContainerCreating", "RestartingAllContainers"]);
