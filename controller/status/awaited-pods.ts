// Which Pods a group or a stage waits for, and why, as text for users. Goes through every Pod, so it is used only after
// a wait has stalled. Pure.
import type { Pod } from "../../src/api/pod.ts";
import { type ChildJob, type Group, participants, type StageTally } from "../group/group.ts";
import { clip } from "./clip.ts";

/** As many as fit with their reasons into an Event note or a condition message, both limited to 1024 characters. */
const MAX_NAMED = 5;

/** Characters for all reasons together: 1024 minus five names, of 63 characters each, and the words around them. */
const REASONS_LENGTH = 600;

interface Missing {
  /** A Pod, a slot without a Pod, or a number of Jobs. */
  readonly what: string;
  readonly why: string;
}

/** For a group at its barrier: also the Pods that must terminate, or that a later stage has in an earlier epoch. */
export function describeAwaited(group: Group, due: readonly StageTally[], epoch: number): string {
  return describeAll([...ending(group), ...stragglers(group, due, epoch)], group, due, epoch);
}

/** For example "2 missing: train-0-1-x (Unschedulable: 0/4 nodes are available), job train-1 index 3 (no Pod yet)". */
export function describeMissing(group: Group, stages: readonly StageTally[], epoch: number): string {
  const names = new Set(stages.map(({ stage }) => stage.name));
  return describeAll(ending(group, names), group, stages, epoch);
}

function describeAll(others: readonly Missing[], group: Group, stages: readonly StageTally[], epoch: number): string {
  const slots = missingSlots(group, stages, epoch);
  const named = new Set(slots.map(({ what }) => what));
  return describe([...others.filter(({ what }) => !named.has(what)), ...absentJobs(stages), ...slots]);
}

function describe(missing: readonly Missing[]): string {
  const first = missing.slice(0, MAX_NAMED);
  const share = Math.floor(REASONS_LENGTH / Math.max(1, first.length));
  const named = first.map(({ what, why }) => `${what} (${clip(why, share)})`).join(", ");
  const more = missing.length > MAX_NAMED ? ` and ${missing.length - MAX_NAMED} more` : "";
  return `${missing.length} missing: ${named}${more}`;
}

/** Deleting a Job may leave its Pods running, and then no controller deletes or replaces them. */
function ending(group: Group, stages?: ReadonlySet<string>): Missing[] {
  return [...group.ending].flatMap((uid) => {
    const pod = group.members.get(uid)?.pod;
    if (pod === undefined || stages?.has(pod.replicatedJob) === false) return [];
    const stays = group.jobs.has(pod.controller?.uid ?? "") ? "still runs, and its Job ends" : ORPHANED;
    return { what: pod.name, why: pod.deletion === undefined ? stays : terminating(pod) };
  });
}

const ORPHANED = "its Job is gone and it still runs: delete it";

/** Pods of stages that start later. They need not be complete, but none may be left in an epoch that has ended. */
function stragglers(group: Group, due: readonly StageTally[], epoch: number): Missing[] {
  const later = new Set(
    participants(group)
      .filter((tally) => !due.includes(tally))
      .map(({ stage }) => stage.name),
  );
  if (later.size === 0) return [];
  return [...group.members.values()].flatMap(({ pod, state }) => {
    const why = state === "live" && later.has(pod.replicatedJob) ? reasonFor(pod, epoch) : undefined;
    return why === undefined ? [] : { what: pod.name, why };
  });
}

function absentJobs(stages: readonly StageTally[]): Missing[] {
  return stages
    .filter(({ stage, startedJobs }) => startedJobs < stage.jobs)
    .map(({ stage, startedJobs }) => ({
      what: `${stage.jobs - startedJobs} Jobs of ${stage.name}`,
      why: "not created by JobSet yet",
    }));
}

function missingSlots(group: Group, stages: readonly StageTally[], epoch: number): Missing[] {
  const due = new Set(stages.map(({ stage }) => stage.name));
  const missing: Missing[] = [];
  for (const child of group.jobs.values()) {
    if (!due.has(child.job.replicatedJob) || child.job.controller?.uid !== group.jobSet?.uid) continue;
    const pods = podsByIndex(group, child);
    for (let index = 0; index < child.job.parallelism; index += 1)
      missing.push(...missingSlot(child, index, pods.get(index) ?? [], epoch));
  }
  return missing;
}

/** Live Pods, and Pods that must terminate first. */
function podsByIndex(group: Group, { job }: ChildJob): ReadonlyMap<number, readonly Pod[]> {
  const byIndex = new Map<number, Pod[]>();
  for (const uid of group.podsByJob.get(job.uid) ?? []) {
    const { pod, state } = group.members.get(uid) ?? {};
    if (pod?.completionIndex === undefined || (state !== "live" && state !== "ending")) continue;
    const known = byIndex.get(pod.completionIndex);
    if (known === undefined) byIndex.set(pod.completionIndex, [pod]);
    else known.push(pod);
  }
  return byIndex;
}

function missingSlot({ job, slots }: ChildJob, index: number, pods: readonly Pod[], epoch: number): Missing[] {
  if (slots.get(index)?.done === true) return [];
  if (pods.length === 0) return [{ what: `job ${job.name} index ${index}`, why: "no Pod yet" }];
  return pods.flatMap((pod) => {
    const why = reasonFor(pod, epoch);
    return why === undefined ? [] : { what: pod.name, why };
  });
}

function reasonFor(pod: Pod, epoch: number): string | undefined {
  if (pod.deletion !== undefined) return terminating(pod);
  if (pod.epoch.kind === "present" && pod.epoch.epoch === epoch) return pod.awaitsAddress ? NO_ADDRESS : undefined;
  const scheduled = pod.conditions.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False") return `${scheduled.reason}: ${scheduled.message}`;
  for (const { name, state } of pod.containers) {
    if (state.kind === "waiting" && !STARTING.has(state.reason)) return `container ${name}: ${state.reason}`;
  }
  if (pod.epoch.kind === "malformed") return "its epoch cannot be read";
  return pod.epoch.kind === "absent" ? "its agent has not taken an epoch" : `still at epoch ${pod.epoch.epoch}`;
}

const NO_ADDRESS = "its kubelet has not reported its address";

function terminating({ node }: Pod): string {
  return `terminating on ${node ?? "no node"}`;
}

/** Reasons of a waiting container in any normal start. */
const STARTING: ReadonlySet<string> = new Set(["", "PodInitializing", "ContainerCreating", "RestartingAllContainers"]);
