// Whether what a Pod shows proves that the synced epoch has ended for it. Pure.

import type { InPlaceRestartStatus as Status } from "../../src/api/in-place-restart.ts";
import { epochRuns } from "./epochs.ts";
import type { Group, Loss } from "./group.ts";

/** A kubelet reports within seconds. A worker that is still down after this long was not restarted since. */
const STALE_MS = 15_000;

/**
 * A run that was known before the sync may be of an earlier epoch, which an old status still shows: its end proves nothing.
 * But a worker whose code no rule restarts stays down, and nobody else tells: what does not pass is no old status.
 */
export function isProof(group: Group, loss: Loss, status: Status, now: number): boolean {
  return concerns(loss, status) && (isFresh(group, loss) || (staysDown(loss) && now >= loss.at + STALE_MS));
}

/** When evidence that may be old will have proved itself. */
export function proofAt(group: Group, status: Status): number | undefined {
  const doubtful = [...group.losses.values()].filter(
    (loss) => epochRuns(status) && concerns(loss, status) && staysDown(loss) && !isFresh(group, loss),
  );
  return doubtful.length === 0 ? undefined : Math.min(...doubtful.map(({ at }) => at + STALE_MS));
}

/** No worker of a held stage runs: its Pods come and go without harm. */
function concerns({ epoch, stage }: Loss, { syncedEpoch, heldStages }: Status): boolean {
  return epoch === syncedEpoch && !heldStages.includes(stage);
}

function isFresh({ baseline }: Group, { runSeenAt }: Loss): boolean {
  return runSeenAt === undefined || runSeenAt > baseline;
}

function staysDown({ ask }: Loss): boolean {
  return ask !== "restart";
}
