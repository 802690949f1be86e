// The losses of a group, indexed by slot and by Job: in a restart nearly every Pod has one, so a search through all of
// them for every event would be quadratic. Changed only by observe.ts.
import { isFresh } from "./evidence.ts";
import type { Group, Loss } from "./group.ts";

export function keepLoss(group: Group, pod: string, loss: Loss): void {
  // A Map keeps the position of a known key: the loss that was seen first stays the one that ends the epoch.
  group.losses.set(pod, loss);
  addTo(group.lossesBySlot, loss.slot, pod);
  addTo(group.lossesByJob, loss.job, pod);
  if (isFirst(group, loss, group.firstLosses.get(pod))) group.firstLosses.set(pod, loss);
}

/** A loss that may be outdated gives way to the next, and an ordinary exit to one that requests an action. */
function isFirst(group: Group, loss: Loss, known: Loss | undefined): boolean {
  if (known === undefined) return true;
  if (known.epoch !== loss.epoch) return false;
  const isStronger = known.requestedAction === "restart" && loss.requestedAction !== "restart";
  return isStronger || !isFresh(group, known);
}

/** The group has not lost it after all, or its epoch is over. */
export function dropLoss(group: Group, pod: string): void {
  group.firstLosses.delete(pod);
  hideLoss(group, pod);
}

/** The Pod no longer shows it. If it showed a run of an earlier epoch, it was never evidence. */
export function withdrawLoss(group: Group, pod: string, isRunning: boolean): void {
  const first = group.firstLosses.get(pod);
  if (isRunning && first !== undefined && !isFresh(group, first)) group.firstLosses.delete(pod);
  hideLoss(group, pod);
}

function hideLoss(group: Group, pod: string): void {
  const loss = group.losses.get(pod);
  if (loss === undefined) return;
  group.losses.delete(pod);
  removeFrom(group.lossesBySlot, loss.slot, pod);
  removeFrom(group.lossesByJob, loss.job, pod);
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

export function addTo(index: Map<string, Set<string>>, key: string, uid: string): void {
  const known = index.get(key);
  if (known === undefined) index.set(key, new Set([uid]));
  else known.add(uid);
}

export function removeFrom(index: Map<string, Set<string>>, key: string, uid: string): void {
  const known = index.get(key);
  known?.delete(uid);
  if (known?.size === 0) index.delete(key);
}
