// Who ended the running epoch, as far as the group can tell. Pure.

import type { InPlaceRestartStatus as Status } from "../../src/api/in-place-restart.ts";
import type { Pod } from "../../src/api/pod.ts";
import { epochOf, podsBeyond } from "./epochs.ts";
import { isProof } from "./evidence.ts";
import { type Group, type Loss, type Member, participants } from "./group.ts";
import { slotName } from "./slots.ts";

/** Somebody's loss: whose, and what he asks for. */
export interface Lost extends Pick<Loss, "cause" | "counted" | "at" | "ask"> {
  readonly slot?: Slot;
}

interface Slot {
  readonly pod: string;
  readonly job: string;
  /** Such as "train-workers-0/1". */
  readonly name: string;
}

export function findLost(group: Group, status: Status, now: number): Lost | undefined {
  return seenLoss(group, status, now) ?? strayLoss(group, status, now) ?? unseenLoss(group, status, now);
}

function seenLoss(group: Group, status: Status, now: number): Lost | undefined {
  for (const [pod, loss] of group.losses) {
    if (!isProof(group, loss, status, now)) continue;
    const { cause, counted, at, ask, job, slot } = loss;
    return { cause, counted, at, ask, slot: { pod, job, name: slot } };
  }
  return undefined;
}

function slotOf({ pod }: Member): Slot {
  const { uid, controller, completionIndex } = pod;
  return { pod: uid, job: controller?.uid ?? "", name: slotName(controller?.name, completionIndex) };
}

/**
 * A Pod with an epoch that no agent can have taken, whose workers have stopped. Its agent can never take the next one, because nobody may
 * write a lower epoch on a Pod: the group has to go on without waiting for that sign.
 */
function strayLoss(group: Group, { syncedEpoch, heldStages }: Status, now: number): Lost | undefined {
  const stray = podsBeyond(group, syncedEpoch + 1).find(
    ({ pod }) => !heldStages.includes(pod.replicatedJob) && isDown(pod),
  );
  if (stray === undefined) return undefined;
  const cause = { reason: "PodRestarted", pod: stray.pod.name } as const;
  return { cause, counted: true, ask: "restart", at: now, slot: slotOf(stray) };
}

/** Nothing of it runs any more, and not because it has finished. */
function isDown({ containers }: Pod): boolean {
  const workers = containers.filter(({ init }) => !init);
  const hasFinished = workers.every(({ state }) => state.kind === "terminated" && state.exitCode === 0);
  return !hasFinished && workers.every(({ state }) => state.kind !== "running");
}

/** Pods in the next epoch while the last one runs: the group has lost somebody, and nobody saw how. */
function unseenLoss(group: Group, status: Status, now: number): Lost | undefined {
  const { syncedEpoch, heldStages } = status;
  if (participants(group).every(({ epochs }) => !epochs.has(syncedEpoch + 1))) return undefined;
  const isHeld = ({ pod }: Member) => heldStages.includes(pod.replicatedJob);
  const ahead = [...group.members.values()].filter(
    (member) => member.standing === "live" && epochOf(member) === syncedEpoch + 1,
  );
  const restarted = ahead.find((member) => !isHeld(member) && !isReplacement(member));
  if (restarted !== undefined)
    return {
      cause: { reason: "PodRestarted", pod: restarted.pod.name },
      counted: true,
      ask: "restart",
      at: now,
      slot: slotOf(restarted),
    };
  // A worker that fails does not cost its Pod. Who lost a whole Pod unseen was most likely disrupted.
  if (ahead.some((member) => !isHeld(member)))
    return { cause: { reason: "PodDeleted" }, counted: false, ask: "restart", at: now };
  // The first Pods of a stage took the next epoch instead of waiting in this one; nothing of theirs has failed.
  const arrived = ahead[0]?.pod.name;
  return {
    cause: { reason: "PodRestarted", ...(arrived === undefined ? {} : { pod: arrived }) },
    counted: false,
    ask: "restart",
    at: now,
  };
}

/** A Pod in which no worker has run and nothing was restarted is new. */
function isReplacement({ pod, runs }: Member): boolean {
  return runs.size === 0 && pod.containers.every(({ restartCount }) => restartCount === 0);
}
