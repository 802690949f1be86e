// The losses of a group, indexed by slot, by Job and by what rules ask about them: in a restart nearly every Pod has
// one, so a search through all of them for every event would be quadratic. Changed only by observe.ts.
import { isDeparture, isFresh } from "./evidence.ts";
import type { Group, Loss, LossTally } from "./group.ts";
import { addTo, mark, removeFrom } from "./index-sets.ts";
import { ownCrashOf } from "./own-crash.ts";

export function keepLoss(group: Group, pod: string, loss: Loss): void {
  const before = group.losses.get(pod);
  // A Map keeps the position of a known key: the loss that was seen first stays the one that ends the epoch.
  group.losses.set(pod, loss);
  addTo(group.lossesBySlot, loss.slot, pod);
  addTo(group.lossesByJob, loss.job, pod);
  if (before === undefined || !isSameInTally(before, loss)) {
    if (before !== undefined) tallyLoss(group, before, -1);
    tallyLoss(group, loss, 1);
  }
  if (isFirst(group, loss, group.firstLosses.get(pod))) keepFirstLoss(group, pod, loss);
}

/** A loss that may be outdated gives way to the next, and an ordinary exit to one that requests an action. */
function isFirst(group: Group, loss: Loss, known: Loss | undefined): boolean {
  if (known === undefined) return true;
  if (known.epoch !== loss.epoch) return false;
  const isStronger = known.requestedAction === "restart" && loss.requestedAction !== "restart";
  return isStronger || !isFresh(group, known);
}

function keepFirstLoss(group: Group, pod: string, loss: Loss): void {
  group.firstLosses.set(pod, loss);
  mark(group.requests, pod, loss.requestedAction === "recreate");
}

function dropFirstLoss(group: Group, pod: string): void {
  group.firstLosses.delete(pod);
  group.requests.delete(pod);
}

/** The group has not lost it after all, or its epoch is over. */
export function dropLoss(group: Group, pod: string): void {
  dropFirstLoss(group, pod);
  hideLoss(group, pod);
}

/** The Pod no longer shows it. If it showed a run of an earlier epoch, it was never evidence. */
export function withdrawLoss(group: Group, pod: string, isRunning: boolean): void {
  const first = group.firstLosses.get(pod);
  if (isRunning && first !== undefined && !isFresh(group, first)) dropFirstLoss(group, pod);
  hideLoss(group, pod);
}

function hideLoss(group: Group, pod: string): void {
  const loss = group.losses.get(pod);
  if (loss === undefined) return;
  group.losses.delete(pod);
  removeFrom(group.lossesBySlot, loss.slot, pod);
  removeFrom(group.lossesByJob, loss.job, pod);
  tallyLoss(group, loss, -1);
}

/**
 * A new epoch has started, at the event that is the baseline now. What was lost before belongs to earlier epochs, and
 * no worker of the new epoch has run yet, so an exit that was seen before is none of its own.
 */
export function startEpoch(group: Group, epoch: number): void {
  for (const [pod, loss] of [...group.losses]) if (loss.epoch < epoch) dropLoss(group, pod);
  for (const [pod, first] of [...group.firstLosses])
    if (first.epoch < epoch || first.runSeenAt !== undefined) dropFirstLoss(group, pod);
  // What is left may no longer be fresh.
  group.lossTallies.clear();
  for (const loss of group.losses.values()) tallyLoss(group, loss, 1);
}

function isSameInTally(before: Loss, after: Loss): boolean {
  return (
    before.epoch === after.epoch &&
    before.stage === after.stage &&
    before.requestedAction === after.requestedAction &&
    before.counted === after.counted &&
    before.runSeenAt === after.runSeenAt &&
    before.own === after.own &&
    before.ignored === after.ignored &&
    before.cause.reason === after.cause.reason &&
    before.cause.exitCode === after.cause.exitCode
  );
}

function tallyLoss(group: Group, loss: Loss, sign: 1 | -1): void {
  const { epoch, stage, requestedAction, counted } = loss;
  const [departure, fresh, own] = [isDeparture(loss), isFresh(group, loss), ownCrashOf(loss)];
  const key = `${epoch}/${stage}/${requestedAction}/${counted}/${departure}/${fresh}/${own}`;
  const known = group.lossTallies.get(key);
  const tally: LossTally = known ?? { epoch, stage, requestedAction, counted, departure, fresh, own, count: 0 };
  tally.count += sign;
  if (tally.count === 0) group.lossTallies.delete(key);
  else if (known === undefined) group.lossTallies.set(key, tally);
}

/** With the UIDs of the Pods. */
export function lossesOfSlot(group: Group, slot: string): readonly (readonly [string, Loss])[] {
  return lossesOf(group, group.lossesBySlot.get(slot));
}

export function lossesOfJob(group: Group, job: string): readonly (readonly [string, Loss])[] {
  return lossesOf(group, group.lossesByJob.get(job));
}

function lossesOf({ losses }: Group, pods: ReadonlySet<string> = new Set()): readonly (readonly [string, Loss])[] {
  return [...pods].flatMap((pod) => {
    const loss = losses.get(pod);
    return loss === undefined ? [] : [[pod, loss] as const];
  });
}
