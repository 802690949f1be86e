// How far the epoch came that has ended. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { Group } from "./group.ts";

/** The highest step that any Pod had reached, as far as those that are back know it. */
export function lastStepOf(group: Group, { syncedEpoch }: InPlaceRestartStatus): number | undefined {
  let highest: number | undefined;
  for (const uid of group.liveByEpoch.get(syncedEpoch + 1) ?? []) {
    const step = group.members.get(uid)?.pod.lastStep;
    if (step !== undefined && step > (highest ?? -1)) highest = step;
  }
  return highest;
}
