// What the controller knows about one group: its JobSet, Jobs, Pods and InPlaceRestart, and the counts that decisions
// need, kept up to date as events arrive. A Pod event costs O(1), a Job event O(its Pods) if it concerns them. Plain
// data that only observe.ts changes. It can be rebuilt from the cluster at any time; the only loss is that a failure
// may be noticed later.
import type { InPlaceRestart } from "../../src/api/in-place-restart.ts";
import type { Job } from "../../src/api/job.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import type { Pod } from "../../src/api/pod.ts";
import { HEALTHY_CLUSTER, type Surroundings } from "../stuck-pods/surroundings.ts";
import type { PodFailure } from "./pod-failure.ts";
import type { Stage } from "./stages.ts";
import type { Termination } from "./termination.ts";

/**
 * `live`: the Pod's epoch counts. `ending`: the Pod may still run a worker, so no later epoch may start beside it.
 * `succeeded` and `failed`: the Pod never runs again. `outside`: the Pod does not belong to the group.
 */
export type MemberState = "live" | "ending" | "succeeded" | "failed" | "outside";

/**
 * One run of a worker container. `seenAt` is the event that first showed it, `seenEnded` whether it was over by then.
 */
export interface Run {
  readonly id: string;
  readonly seenAt: number;
  readonly seenEnded: boolean;
}

export interface Member {
  readonly pod: Pod;
  /** The event that first showed the Pod. What it showed may be older than this process. */
  readonly firstSeenAt: number;
  /** The event that first showed the Pod in its current epoch. */
  readonly publishedAt: number;
  /** The time of that event, in milliseconds since 1970. */
  readonly epochSince: number;
  /** Lower bound of the Pod's restarts in place when it took its current epoch; undefined while unknown. */
  readonly restarts: number | undefined;
  /** By container name. */
  readonly runs: ReadonlyMap<string, Run>;
  readonly state: MemberState;
  /** Its workers run in its current epoch. */
  readonly running: boolean;
  readonly ready: boolean;
  /** Until when its workers may save their work, in milliseconds since 1970, if the Pod is going away. */
  readonly savesUntil?: number;
  /** When its report about its progress was first seen, in milliseconds since 1970. */
  readonly hangSeenAt?: number;
  /** The end of its grace period, in milliseconds since 1970, if the Pod is ending because it was deleted. */
  readonly graceEnd?: number;
}

/** Pods that are going away, and whose workers may save their work until the same time. */
export interface Saving {
  readonly until: number;
  readonly epoch: number | undefined;
  readonly stage: string;
  /** Number of Pods by the name of their node. */
  readonly nodes: Map<string, number>;
}

/** One completion index of a Job. */
export interface Slot {
  /** UIDs of the live Pods in it. Two only while the Job controller corrects itself. */
  readonly live: Set<string>;
  done: boolean;
}

export interface ChildJob {
  readonly job: Job;
  /** By completion index. Kept when the Pod is gone: a slot that succeeded stays done. */
  readonly slots: Map<number, Slot>;
}

/** The counts of one stage. */
export interface StageTally {
  readonly stage: Stage;
  /** Jobs that exist and may run Pods. */
  startedJobs: number;
  /** Slots of those Jobs. An Indexed Job can be resized while it runs, so this may differ from its template. */
  startedSlots: number;
  /** Slots that are done. */
  done: number;
  /** Slots that are done or hold a live Pod. */
  occupied: number;
  /** Live Pods by epoch. */
  readonly epochs: Map<number, number>;
  /** Live Pods without an epoch. */
  unpublished: number;
  /** Live Pods whose address is not known yet. */
  unaddressed: number;
  ending: number;
  running: number;
  ready: number;
}

/** Evidence that an epoch has ended for one slot. */
export interface Loss extends PodFailure {
  readonly stage: string;
  readonly epoch: number;
  /** UID of the Job. */
  readonly job: string;
  /** Job name and index, such as "train-workers-0/1". A Job that JobSet recreates has the same slots. */
  readonly slot: string;
  readonly index: number;
  /** The event that first showed the ended run; absent when the Pod as a whole is lost. */
  readonly runSeenAt?: number;
  /** When the evidence was first seen, in milliseconds since 1970. */
  readonly at: number;
  /** How the worker ended, if one did. */
  readonly termination?: Termination;
}

/** The losses that are alike in everything that rules ask about, counted. */
export interface LossTally {
  readonly epoch: number;
  readonly stage: string;
  readonly requestedAction: PodFailure["requestedAction"];
  readonly counted: boolean;
  readonly departure: boolean;
  readonly fresh: boolean;
  /** Whether the worker crashed by itself: always, never, or only if the epoch still runs. */
  readonly own: "always" | "while-running" | "never";
  count: number;
}

export interface Group {
  jobSet: JobSet | undefined;
  /** By name, in the order of the JobSet. */
  stages: ReadonlyMap<string, StageTally>;
  /** By UID. */
  readonly jobs: Map<string, ChildJob>;
  /** UIDs of the Jobs with this name: JobSet recreates a Job under the same name. */
  readonly jobsByName: Map<string, Set<string>>;
  readonly members: Map<string, Member>;
  /** UIDs of the Pods that a Job controls, by the UID of the Job, whether or not the Job is known yet. */
  readonly podsByJob: Map<string, Set<string>>;
  /** By Pod UID, in the order of arrival: the first one ends the epoch. */
  readonly losses: Map<string, Loss>;
  /**
   * The first loss of each Pod in its epoch, by Pod UID. Kept until the next sync even if the Pod no longer shows it: a
   * restart in place removes the containers that failed, and who is to blame is decided when every Pod is back.
   */
  readonly firstLosses: Map<string, Loss>;
  /** UIDs of the Pods whose workers still ran in the last epoch when their agent had exited because it was told to. */
  readonly told: Set<string>;
  /** UIDs of the Pods with a loss, by slot and by Job. */
  readonly lossesBySlot: Map<string, Set<string>>;
  readonly lossesByJob: Map<string, Set<string>>;
  readonly lossTallies: Map<string, LossTally>;
  /** UIDs of the Pods whose first loss requests a new Pod. */
  readonly requests: Set<string>;
  /** UIDs of the live Pods, by epoch. */
  readonly liveByEpoch: Map<number, Set<string>>;
  /** UIDs of the Pods that are live or ending, by the name of their node. */
  readonly podsByNode: Map<string, Set<string>>;
  /** UIDs of the Pods whose workers have all ended with 0, and whose agent still runs. */
  readonly finishing: Set<string>;
  /** UIDs of the Pods whose agents report that their workers make no progress. */
  readonly hanging: Set<string>;
  readonly saving: Map<string, Saving>;
  /** UIDs of the ending Pods that were deleted, by the end of their grace period. */
  readonly terminating: Map<number, Set<string>>;
  /** UIDs of the Pods whose epoch cannot be read. */
  readonly malformed: Set<string>;
  /** UIDs of the Pods whose leftovers in /dev/shm are large, and have not been reported since they changed. */
  readonly newLeftovers: Set<string>;
  /** UIDs of the Pods that the next epoch must wait for until they are gone, also if their Job is unknown. */
  readonly ending: Set<string>;
  /** The state of the cluster, shared by all groups. */
  readonly surroundings: Surroundings;
  /** What was already reported about a Pod, by its UID and by the reason of the Event. */
  readonly reported: Map<string, Map<string, string>>;
  object: InPlaceRestart | undefined;
  /** When the object last changed, in milliseconds since 1970. */
  objectChangedAt: number;
  /** When last nothing but its summary changed, in milliseconds since 1970. */
  summaryChangedAt: number;
  /** Number of events so far. */
  tick: number;
  /** The event that showed the last sync. Runs known by then may belong to earlier epochs: their end proves nothing. */
  baseline: number;
  /** The event that showed that the epoch was deprecated. A Pod that was back by then had not been told to restart. */
  deprecationSeenAt: number;
  /** The latest epoch that this process has seen running. It may have missed failures of any other epoch. */
  watchedEpoch: number;
  /** Whether the JobSet was suspended at any time since the last sync. */
  suspensionSeen: boolean;
}

export function newGroup(surroundings: Surroundings = HEALTHY_CLUSTER): Group {
  return {
    jobSet: undefined,
    stages: new Map(),
    jobs: new Map(),
    jobsByName: new Map(),
    members: new Map(),
    podsByJob: new Map(),
    losses: new Map(),
    firstLosses: new Map(),
    told: new Set(),
    lossesBySlot: new Map(),
    lossesByJob: new Map(),
    lossTallies: new Map(),
    requests: new Set(),
    liveByEpoch: new Map(),
    podsByNode: new Map(),
    finishing: new Set(),
    hanging: new Set(),
    saving: new Map(),
    terminating: new Map(),
    malformed: new Set(),
    newLeftovers: new Set(),
    ending: new Set(),
    surroundings,
    reported: new Map(),
    object: undefined,
    objectChangedAt: 0,
    summaryChangedAt: 0,
    tick: 0,
    baseline: 0,
    deprecationSeenAt: 0,
    watchedEpoch: 0,
    suspensionSeen: false,
  };
}

export function newTally(stage: Stage): StageTally {
  return {
    stage,
    startedJobs: 0,
    startedSlots: 0,
    done: 0,
    occupied: 0,
    epochs: new Map(),
    unpublished: 0,
    unaddressed: 0,
    ending: 0,
    running: 0,
    ready: 0,
  };
}

/** The stages whose Pods carry an agent, in the order of the JobSet. */
export function participants(group: Group): readonly StageTally[] {
  return [...group.stages.values()].filter(({ stage }) => stage.participates);
}
