// What the agent of one Pod does next: a pure function of its own state and of what it last saw of its group.
// Both protocols share it; they differ only in how the object is read. It must never kill a running worker because an
// object vanished or belongs to another JobSet, and never take back a barrier that was lifted.
//
// Why a Pod's earlier annotation is no lower bound for its next epoch: an epoch is taken from a consistent read, and an
// agent lifts only after it saw that epoch synced. So once a worker of this Pod ran in epoch E, every later read shows
// syncedEpoch >= E and its stage let go, and the next epoch is above it: no stale value can let the Pod join a running group alone. A bound
// could only change the outcome after the group's state was lost or the annotation was forged, and then for the worse:
// a Pod that insists on an epoch in which the others already run would be synced with them, and lift alone. Reading
// the annotation would also need a right to read Pods, which workers with the same service account may not have.
//
// What an agent leaves behind for the next one of its Pod is different (kept-epoch.ts): the epoch that it took, and only until it lifts. So no
// worker of this Pod has run since, and whoever goes on with it is no different from an agent that was slow. Without it the controller,
// which counts annotations, could sync that epoch while the agent starts anew; it would then take the next one and restart everybody.
// Only the epoch that runs now is ever taken up again: a value that is older, or forged by a worker of the same Pod, does at most
// what that worker could do anyway, which is to start over without telling anybody.
import { readInPlaceRestart } from "../src/api/in-place-restart.ts";

export interface Identity {
  readonly jobSetUid: string;
  readonly replicatedJob: string;
}

/** What one incarnation of the agent has done so far. */
export interface AgentState extends Identity {
  /** Absent until it is taken. */
  readonly epoch?: number;
  /** Whether the API server has confirmed the epoch on the Pod. */
  readonly published: boolean;
  readonly lifted: boolean;
  /** What the Pod's last agent took and did not lift for. Absent where it lifted, or there was none. */
  readonly kept?: number;
}

/** What the agent last saw of its group. */
export type Sighting =
  | { readonly kind: "absent" }
  /** The object of an earlier or later JobSet with the same name. */
  | { readonly kind: "foreign" }
  | { readonly kind: "uninitialised" }
  | {
      readonly kind: "group";
      readonly deprecatedEpoch: number;
      readonly syncedEpoch: number;
      /** replicatedJobs whose barrier stays down for now. */
      readonly heldStages: readonly string[];
      /** Read with quorum, not from a watch or cache: only such a sighting may give an epoch. */
      readonly consistent: boolean;
    }
  /** The group does not take part: no barrier, no restart. */
  | { readonly kind: "released" };

export type Action =
  /** Nothing until the next sighting. */
  | { readonly kind: "wait" }
  /** Look at the object again, by a consistent read. */
  | { readonly kind: "read" }
  | { readonly kind: "take"; readonly epoch: number }
  /** Write the epoch on the Pod; done when the API server confirmed it. */
  | { readonly kind: "publish"; readonly epoch: number }
  /** Exit with the restart code: every container of the Pod starts anew. */
  | { readonly kind: "restart" }
  /** Let the workers start. */
  | { readonly kind: "lift" };

const WAIT: Action = { kind: "wait" };
const LIFT: Action = { kind: "lift" };

export function newAgent({ jobSetUid, replicatedJob }: Identity, kept?: number): AgentState {
  return { jobSetUid, replicatedJob, published: false, lifted: false, ...(kept === undefined ? {} : { kept }) };
}

export function decide(state: AgentState, seen: Sighting): Action {
  if (seen.kind === "released") return state.lifted ? WAIT : LIFT;
  if (seen.kind !== "group") return WAIT;
  const { epoch } = state;
  if (epoch === undefined) return seen.consistent ? { kind: "take", epoch: nextEpoch(state, seen) } : { kind: "read" };
  if (epoch <= seen.deprecatedEpoch) return { kind: "restart" };
  if (!state.published) return { kind: "publish", epoch };
  const mayLift = epoch === seen.syncedEpoch && !seen.heldStages.includes(state.replicatedJob);
  return mayLift && !state.lifted ? LIFT : WAIT;
}

/**
 * The epoch after the synced one; but a Pod of a stage that is still held, in a group that runs, joins the running epoch. So
 * a stage that starts late (dependsOn, InOrder) disturbs nobody, and every Pod of a group has one epoch. That is safe because
 * no worker of a held stage has run in this epoch: the controller holds stages only when it syncs, and a worker that ran
 * proves that its stage was let go before, which a consistent read then shows. A Pod whose last agent was at the barrier of the running
 * epoch joins it as well: none of its workers has run in it either.
 */
function nextEpoch({ replicatedJob, kept }: AgentState, seen: Sighting & { readonly kind: "group" }): number {
  const { syncedEpoch, deprecatedEpoch, heldStages } = seen;
  const joins = syncedEpoch > deprecatedEpoch && (heldStages.includes(replicatedJob) || kept === syncedEpoch);
  return joins ? syncedEpoch : syncedEpoch + 1;
}

/** The state once the action is done. An agent that restarts has none: its next incarnation begins anew. */
export function advance(state: AgentState, done: Action): AgentState {
  switch (done.kind) {
    case "take":
      return { ...state, epoch: done.epoch };
    case "publish":
      return { ...state, published: true };
    case "lift":
      return { ...state, lifted: true };
    case "wait":
    case "read":
    case "restart":
      return state;
  }
}

/** Reads protocol `epoch`: the raw InPlaceRestart, or undefined where there is none. */
export function seeInPlaceRestart(raw: unknown, { jobSetUid }: Identity, consistent: boolean): Sighting {
  if (raw === undefined) return { kind: "absent" };
  const { jobSetUID, status } = readInPlaceRestart(raw);
  if (jobSetUID !== jobSetUid) return { kind: "foreign" };
  if (status === undefined) return { kind: "uninitialised" };
  const { deprecatedEpoch, syncedEpoch, heldStages } = status;
  return { kind: "group", deprecatedEpoch, syncedEpoch, heldStages, consistent };
}
