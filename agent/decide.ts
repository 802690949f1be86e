// What the agent of one Pod does next: a pure function of its own state and its last view of the group. Both protocols
// share it and differ only in how the object is read. It must never kill a running worker because an object vanished or
// belongs to another JobSet, and never take back a barrier that was lifted.
//
// Why the Pod's earlier annotation is no lower bound for its next epoch: every view comes from a watch that began with
// a consistent list, so none is older than this agent process, and an agent lifts only after it saw its epoch synced.
// So once a worker of this Pod ran in epoch E, every view of a later agent shows syncedEpoch >= E with its stage
// released, and the next epoch is higher: no stale value lets the Pod join a running group alone. It does not matter
// that the GroupEpoch follows the InPlaceRestart with a delay: it never shows an older state than before, and what it
// has not shown yet let no worker start. A bound would only matter after the group's state was lost or the annotation
// was forged, and then it would hurt: a Pod that insists on an epoch in which the others already run would be synced
// with them, and lift alone. Reading the annotation would also need permission to read Pods, which workers with the
// same service account should not have.
import { readGroupEpoch } from "../src/api/group-epoch.ts";

export interface Identity {
  readonly jobSetUid: string;
  readonly replicatedJob: string;
}

/** What this agent process has done so far. */
export interface AgentState extends Identity {
  /** Absent until one is taken. */
  readonly epoch?: number;
  /** Whether the API server has confirmed the epoch annotation on the Pod. */
  readonly published: boolean;
  readonly lifted: boolean;
  /** Its workers were started without the group, because reprise was removed. */
  readonly alone?: true;
}

/** The group's object as the agent last saw it, never older than the agent's own start. */
export type GroupView =
  | { readonly kind: "absent" }
  /** The object belongs to an earlier or later JobSet of the same name. */
  | { readonly kind: "foreign" }
  | { readonly kind: "uninitialized" }
  | {
      readonly kind: "group";
      readonly deprecatedEpoch: number;
      readonly syncedEpoch: number;
      /** replicatedJobs whose barrier must not lift yet. */
      readonly heldStages: readonly string[];
    }
  /** The group does not take part: no barrier, no restarts. */
  | { readonly kind: "released" }
  /** reprise was removed (decide-removed.ts): no controller will ever sync the group. */
  | { readonly kind: "removed" };

export type Action =
  /** Nothing to do until the next view. */
  | { readonly kind: "wait" }
  | { readonly kind: "take"; readonly epoch: number }
  /** Annotate the Pod with the epoch; done when the API server has confirmed it. */
  | { readonly kind: "publish"; readonly epoch: number }
  /** Exit with the restart code: the kubelet restarts every container of the Pod. */
  | { readonly kind: "restart" }
  /** Let the workers start. `alone`: without the group. */
  | { readonly kind: "lift"; readonly alone?: true };

const WAIT: Action = { kind: "wait" };
const LIFT: Action = { kind: "lift" };

export function newAgent({ jobSetUid, replicatedJob }: Identity): AgentState {
  return { jobSetUid, replicatedJob, published: false, lifted: false };
}

export function decide(state: AgentState, view: GroupView): Action {
  if (view.kind === "released") return state.lifted ? WAIT : LIFT;
  if (view.kind === "removed") return state.lifted ? WAIT : { kind: "lift", alone: true };
  if (view.kind !== "group") return WAIT;
  if (state.alone === true) return decideAlone(state, view);
  const { epoch } = state;
  if (epoch === undefined) return { kind: "take", epoch: nextEpoch(state, view) };
  if (epoch <= view.deprecatedEpoch) return { kind: "restart" };
  if (!state.published) return { kind: "publish", epoch };
  const mayLift = epoch === view.syncedEpoch && !view.heldStages.includes(state.replicatedJob);
  return mayLift && !state.lifted ? LIFT : WAIT;
}

/**
 * reprise is back. Workers that run without their group take part again at their next start: when their epoch has
 * ended or, without an epoch, while the group is between two epochs and waits for every Pod.
 */
function decideAlone({ epoch }: AgentState, view: GroupView & { readonly kind: "group" }): Action {
  return (epoch ?? view.syncedEpoch) <= view.deprecatedEpoch ? { kind: "restart" } : WAIT;
}

/**
 * The epoch after the synced one. A Pod of a stage that is still held joins the running epoch instead, so that a stage
 * that starts late (dependsOn, InOrder) disturbs no other and all Pods of a group share one epoch. That is safe because
 * no worker of a held stage has run in this epoch: the controller holds stages only when it syncs, and a worker that
 * ran proves that its stage was released before, which every view of a later agent shows.
 */
function nextEpoch({ replicatedJob }: AgentState, view: GroupView & { readonly kind: "group" }): number {
  const { syncedEpoch, deprecatedEpoch, heldStages } = view;
  const joins = syncedEpoch > deprecatedEpoch && heldStages.includes(replicatedJob);
  return joins ? syncedEpoch : syncedEpoch + 1;
}

/** The state after the action is done. A restart has none: the next agent process starts from the beginning. */
export function advance(state: AgentState, done: Action): AgentState {
  switch (done.kind) {
    case "take":
      return { ...state, epoch: done.epoch };
    case "publish":
      return { ...state, published: true };
    case "lift":
      return { ...state, lifted: true, ...(done.alone === true ? { alone: true } : {}) };
    case "wait":
    case "restart":
      return state;
  }
}

/** Protocol `epoch`: `raw` is the GroupEpoch with the UID of the JobSet as its name, or undefined if there is none. */
export function viewGroupEpoch(raw: unknown): GroupView {
  if (raw === undefined) return { kind: "absent" };
  const epochs = readGroupEpoch(raw);
  if (epochs === undefined) return { kind: "uninitialized" };
  const { deprecatedEpoch, syncedEpoch, heldStages } = epochs;
  return { kind: "group", deprecatedEpoch, syncedEpoch, heldStages };
}
