// Failures and recoveries of a group of two workers, for tests that start from runningScene().
import type { Scene } from "./scene.ts";

export const A = "workers-0/0";
export const B = "workers-0/1";

/** The worker of the slot exits in its current run. */
export function fail(scene: Scene, slot: string, exitCode = 1): Scene {
  const { syncedEpoch } = scene.status;
  return scene.fails(slot, syncedEpoch === 1 ? "a" : `run-${syncedEpoch}`, exitCode);
}

/** All Pods reach the next epoch, so that all evidence about the failure is in. */
export function arrive(scene: Scene, ...slots: readonly string[]): Scene {
  return scene.at(scene.status.syncedEpoch + 1, ...(slots.length === 0 ? [A, B] : slots));
}

/** All Pods reach the next epoch after any back-off, and run as soon as the barrier is lifted. */
export function comeBack(scene: Scene, ...slots: readonly string[]): Scene {
  scene.now = Math.max(scene.now, Date.parse(scene.status.history.at(-1)?.backoffUntil ?? "1970-01-01"));
  const epoch = scene.status.syncedEpoch + 1;
  const all = slots.length === 0 ? [A, B] : slots;
  return scene
    .at(epoch, ...all)
    .settle()
    .runs(`run-${epoch}`, ...all)
    .settle();
}

/** The slot fails, and the group restarts in place. */
export function failAndRecover(scene: Scene, slot: string): Scene {
  return comeBack(fail(scene, slot).settle());
}

export function withMaxRestarts(maxRestarts: number) {
  return { failurePolicy: { maxRestarts, restartStrategy: "Recreate" } } as const;
}
