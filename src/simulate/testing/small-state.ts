// The state of the small model: the API server, two Pods, one controller, and the events on their way between them.
import { KnownGroups } from "./known-groups.ts";
import { ObjectVersions, type Status } from "./object-versions.ts";
import { JOB, JOBSET, type PodState, type PodVersion } from "./small-pods.ts";

export type Fault =
  | "kill-worker"
  | "evict-pod"
  /** Whatever it is doing. */
  | "kill-agent"
  /** Before it has published its epoch. */
  | "kill-new-agent"
  /** After that, before it has lifted its barrier. */
  | "kill-agent-at-barrier"
  | "kill-controller"
  /** One worker stops for good, and the other waits for it. */
  | "hang"
  /** They go on at any time. */
  | "pause";

export interface State {
  /** The version of the InPlaceRestart at the API server; 0 when there is none. */
  readonly object: number;
  /** The version that the GroupEpoch shows to agents, and the later ones that no controller has told them yet. */
  readonly told: number;
  readonly untold: readonly number[];
  readonly pods: readonly PodState[];
  /** The number of the controller's view, and the events on their way to it, one queue for each watch. */
  readonly controller: number;
  readonly podNews: readonly PodVersion[];
  readonly objectNews: readonly number[];
  /** The epoch whose workers make no progress, or 0; and whether they may go on. */
  readonly stalled: number;
  readonly pauses: boolean;
  /** Faults that have not struck yet. */
  readonly faults: readonly Fault[];
}

/** Shared by all models, so that no view is computed twice. */
export const KNOWN = new KnownGroups(JOBSET, JOB);
export const OBJECTS = new ObjectVersions({ jobSetUid: JOBSET.uid, replicatedJob: "workers" });

export function statusOf({ object }: State): Status {
  return OBJECTS.at(object)?.status;
}

export function withPod(state: State, index: number, pod: PodState): State {
  return { ...state, pods: state.pods.with(index, pod) };
}

/** The watch of Pods has one more event to deliver. */
export function withPodNews(state: State, index: number): State {
  const pod = state.pods[index];
  if (pod === undefined) return state;
  return { ...state, podNews: [...state.podNews, versionOf(pod, index)] };
}

/** The Pod as the API server has it. */
export function versionOf({ epoch, hang, status, generation, end }: PodState, index: number): PodVersion {
  return { pod: index, epoch, hang, status, generation, end: end === "ending" ? "evicted" : end };
}
