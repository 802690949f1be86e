// The losses of a group, indexed by slot and by Job: in a restart nearly every Pod has one, so a search through all of
// them for every event would be quadratic. Changed only by observe.ts.
import type { Group, Loss } from "./group.ts";

export function keepLoss(group: Group, pod: string, loss: Loss): void {
  // A Map keeps the position of a known key: the loss that was seen first stays the one to blame.
  group.losses.set(pod, loss);
  addTo(group.lossesBySlot, loss.slot, pod);
  addTo(group.lossesByJob, loss.job, pod);
}

export function dropLoss(group: Group, pod: string): void {
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
