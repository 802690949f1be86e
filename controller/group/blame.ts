// Which Pod ended the running epoch, as far as the group can tell. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { Pod } from "../../src/api/pod.ts";
import { epochRuns, livePods, podsBeyond } from "./epochs.ts";
import { proofs } from "./evidence.ts";
import { isWorkBeingSaved } from "./grace.ts";
import { type Group, type Loss, type Member, participants } from "./group.ts";
import { placeOf } from "./pod-failure.ts";
import { slotName } from "./slots.ts";

/** The Pod blamed for ending the epoch, and the action that its exit code requests. */
interface Blame extends Pick<Loss, "cause" | "counted" | "at" | "requestedAction"> {
  readonly blamed?: BlamedPod;
}

interface BlamedPod {
  /** UIDs of the Pod and of its Job. */
  readonly pod: string;
  readonly job: string;
  /** For example "train-workers-0/1". */
  readonly slot: string;
}

export function findBlame(group: Group, status: InPlaceRestartStatus, now: number): Blame | undefined {
  return blameLoss(group, status, now) ?? blameForeignEpoch(group, status, now) ?? blameNextEpoch(group, status, now);
}

function blameLoss(group: Group, status: InPlaceRestartStatus, now: number): Blame | undefined {
  for (const [pod, loss] of proofs(group, status, now)) {
    const { cause, counted, at, requestedAction, job, slot } = loss;
    return { cause, counted, at, requestedAction, blamed: { pod, job, slot } };
  }
  return undefined;
}

/**
 * A Pod with a foreign epoch whose workers have stopped. Its agent can never take the next epoch, because no agent may
 * write a lower one, so the group must not wait for that sign.
 */
function blameForeignEpoch(
  group: Group,
  { syncedEpoch, heldStages }: InPlaceRestartStatus,
  now: number,
): Blame | undefined {
  const stopped = podsBeyond(group, syncedEpoch + 1).find(
    ({ pod }) => !heldStages.includes(pod.replicatedJob) && hasStopped(pod),
  );
  return stopped === undefined ? undefined : blameRestarted(stopped, now);
}

/** Whether no worker runs, and not because all have succeeded. */
function hasStopped({ containers }: Pod): boolean {
  const workers = containers.filter(({ init }) => !init);
  const hasFinished = workers.every(({ state }) => state.kind === "terminated" && state.exitCode === 0);
  return !hasFinished && workers.every(({ state }) => state.kind !== "running");
}

/** Pods in the next epoch while the current one runs: the group lost a Pod or a worker, and no event showed how. */
function blameNextEpoch(group: Group, status: InPlaceRestartStatus, now: number): Blame | undefined {
  const { syncedEpoch, heldStages } = status;
  if (participants(group).every(({ epochs }) => !epochs.has(syncedEpoch + 1))) return undefined;
  const ahead = podsAhead(group, syncedEpoch);
  const started = ahead.filter(({ pod }) => !heldStages.includes(pod.replicatedJob));
  const restarted = started.find((member) => !isReplacement(member));
  if (restarted !== undefined) return blameRestarted(restarted, now);
  // New Pods can wait until those that are going away have ended.
  if (isWorkBeingSaved(group, status, now)) return undefined;
  // A worker that fails keeps its Pod, so a whole Pod that was lost unseen was most likely disrupted.
  if (started.length > 0)
    return { cause: { reason: "PodDeleted" }, counted: false, requestedAction: "restart", at: now };
  // The first Pods of a held stage took the next epoch instead of waiting in this one. None of them has failed.
  const arrived = ahead[0]?.pod;
  return {
    cause: { reason: "PodRestarted", ...(arrived === undefined ? {} : placeOf(arrived)) },
    counted: false,
    requestedAction: "restart",
    at: now,
  };
}

function podsAhead(group: Group, syncedEpoch: number): readonly Member[] {
  return livePods(group, (epoch) => epoch === syncedEpoch + 1);
}

/**
 * Pods that restarted in place while the epoch ran, and no event showed why: no agent was told to, so something in them
 * failed. A kubelet may overwrite the report of an exit before it has sent it.
 */
export function restartedUnseen(group: Group, status: InPlaceRestartStatus): readonly Member[] {
  const { syncedEpoch, heldStages } = status;
  if (!epochRuns(status) || participants(group).every(({ epochs }) => !epochs.has(syncedEpoch + 1))) return [];
  return podsAhead(group, syncedEpoch).filter(
    (member) =>
      !heldStages.includes(member.pod.replicatedJob) &&
      !isReplacement(member) &&
      !group.firstLosses.has(member.pod.uid),
  );
}

function blameRestarted({ pod }: Member, now: number): Blame {
  const { uid, controller, completionIndex } = pod;
  return {
    cause: { reason: "PodRestarted", ...placeOf(pod) },
    counted: true,
    requestedAction: "restart",
    at: now,
    blamed: { pod: uid, job: controller?.uid ?? "", slot: slotName(controller?.name, completionIndex) },
  };
}

/**
 * A Pod in which no worker has run and no container has restarted is new. One that has taken a further epoch has
 * restarted, even if its kubelet has not reported anything yet.
 */
export function isReplacement({ pod, runs, restarts = 0 }: Member): boolean {
  return runs.size === 0 && restarts === 0 && pod.containers.every(({ restartCount }) => restartCount === 0);
}
