// What the controller knows of one group: its JobSet, Jobs, Pods and InPlaceRestart, with every number that a decision
// needs kept up to date as events arrive. O(1) work per Pod event; a Job event costs its own Pods.
// Plain data, changed only by the functions of observe.ts. It may be rebuilt from the cluster at any time: all that is
// lost then is the chance to see one failure early.
import type { InPlaceRestart } from "../../src/api/in-place-restart.ts";
import type { Job } from "../../src/api/job.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import type { Pod } from "../../src/api/pod.ts";
import { CALM, type Surroundings } from "../stuck-pods/surroundings.ts";
import type { Finding } from "./pod-failure.ts";
import type { Stage } from "./stages.ts";

/**
 * Where a Pod stands. `live`: its epoch counts. `ending`: it may still run a worker, so no later epoch may start beside
 * it. `succeeded` and `failed`: it never runs again. `outside`: not of the group.
 */
export type Standing = "live" | "ending" | "succeeded" | "failed" | "outside";

/** One run of a worker container, the event with which it was first seen, and whether it was over by then. */
export interface Run {
  readonly id: string;
  readonly seenAt: number;
  readonly seenEnded: boolean;
}

export interface Member {
  readonly pod: Pod;
  /** The event with which the Pod was first seen. What it showed then may be older than this process. */
  readonly firstSeenAt: number;
  /** The event that first showed the Pod in its present epoch. */
  readonly publishedAt: number;
  /** The fewest restarts in place that the Pod had behind it when it took its present epoch; undefined while not known. */
  readonly restarts: number | undefined;
  /** By container name. */
  readonly runs: ReadonlyMap<string, Run>;
  readonly standing: Standing;
  /** Its workers run in its present epoch. */
  readonly running: boolean;
  readonly ready: boolean;
}

export interface Slot {
  /** UIDs of the live Pods in it: two only while the Job controller corrects itself. */
  readonly live: Set<string>;
  done: boolean;
}

export interface ChildJob {
  readonly job: Job;
  /** By completion index. Kept when a Pod is gone: a slot that succeeded stays done. */
  readonly slots: Map<number, Slot>;
}

/** The numbers of one stage. */
export interface StageTally {
  readonly stage: Stage;
  /** Jobs that exist and may run Pods. */
  startedJobs: number;
  /** Slots of those Jobs, which may be more or fewer than their template says: the size of an Indexed Job may be changed while it runs. */
  startedSlots: number;
  /** Slots that are done, and slots that are done or hold a live Pod. */
  done: number;
  occupied: number;
  /** Live Pods by epoch; those that have none yet are unpublished. */
  readonly epochs: Map<number, number>;
  unpublished: number;
  ending: number;
  running: number;
  ready: number;
}

/** Evidence that an epoch has ended for one slot. */
export interface Loss extends Finding {
  readonly stage: string;
  readonly epoch: number;
  /** UID of the Job. */
  readonly job: string;
  /** Job and index, such as "train-workers-0/1": the same in every Job that JobSet makes in the place of this one. */
  readonly slot: string;
  readonly index: number;
  /** The event with which the ended run was first seen; absent when the Pod as a whole is lost. */
  readonly runSeenAt?: number;
  /** When the evidence was seen, in milliseconds since 1970. */
  readonly at: number;
}

export interface Group {
  jobSet: JobSet | undefined;
  /** By name, in the order of the JobSet. */
  stages: ReadonlyMap<string, StageTally>;
  /** By UID. */
  readonly jobs: Map<string, ChildJob>;
  /** Their UIDs: the Job that JobSet makes in the place of another has its name. */
  readonly jobsByName: Map<string, Set<string>>;
  readonly members: Map<string, Member>;
  /** UIDs of the Pods that a Job controls, by the Job's UID, whether or not the Job is known yet. */
  readonly podsByJob: Map<string, Set<string>>;
  /** By the UID of the Pod, first seen first: the first is the one to blame. */
  readonly losses: Map<string, Loss>;
  /** UIDs of the Pods with a loss, by its slot and by its Job. */
  readonly lossesBySlot: Map<string, Set<string>>;
  readonly lossesByJob: Map<string, Set<string>>;
  /** Pods whose epoch cannot be read. */
  readonly malformed: Set<string>;
  /** Pods that end, and that the next epoch waits for; also those whose Job is not known. */
  readonly ending: Set<string>;
  /** The cluster around the group; the same for all groups. */
  readonly surroundings: Surroundings;
  /** What was already reported about a Pod, by its UID. */
  readonly reported: Map<string, string>;
  object: InPlaceRestart | undefined;
  /** When the object last changed, in milliseconds since 1970. */
  objectChangedAt: number;
  /** Counts events. */
  tick: number;
  /** The event that showed the last sync. Runs known by then may be of earlier epochs, and their end proves nothing. */
  baseline: number;
  /** The JobSet was suspended at some time since the last sync. */
  suspensionSeen: boolean;
}

export function newGroup(surroundings: Surroundings = CALM): Group {
  return {
    jobSet: undefined,
    stages: new Map(),
    jobs: new Map(),
    jobsByName: new Map(),
    members: new Map(),
    podsByJob: new Map(),
    losses: new Map(),
    lossesBySlot: new Map(),
    lossesByJob: new Map(),
    malformed: new Set(),
    ending: new Set(),
    surroundings,
    reported: new Map(),
    object: undefined,
    objectChangedAt: 0,
    tick: 0,
    baseline: 0,
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
    ending: 0,
    running: 0,
    ready: 0,
  };
}

/** The stages whose Pods carry an agent, in the order of the JobSet. */
export function participants(group: Group): readonly StageTally[] {
  return [...group.stages.values()].filter(({ stage }) => stage.participates);
}
