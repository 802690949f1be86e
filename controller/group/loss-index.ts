// The evidence that epochs have ended, found again by slot and by Job without a look at all of it: in a restart nearly every Pod of a group
// has lost something. Changed only by observe.ts.
import type { Group, Loss } from "./group.ts";

export function keepLoss(group: Group, pod: string, loss: Loss): void {
  // In its place: the first to be seen is the one to blame.
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
  return found(group, group.lossesBySlot.get(slot));
}

export function lossesOfJob(group: Group, job: string): readonly (readonly [string, Loss])[] {
  return found(group, group.lossesByJob.get(job));
}

function found({ losses }: Group, pods: ReadonlySet<string> = new Set()): readonly (readonly [string, Loss])[] {
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
