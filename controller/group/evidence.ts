// Whether a loss proves that the synced epoch has ended. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import { epochRuns } from "./epochs.ts";
import type { Group, Loss } from "./group.ts";

/** A kubelet reports within seconds. A worker that is still down after this long has not been restarted since. */
const STALE_MS = 15_000;

/**
 * A run that was known before the sync may belong to an earlier epoch that an outdated Pod status still shows, so its
 * end proves nothing. But a worker that no rule restarts stays down and sends no other sign: if it lasts, it is not
 * outdated.
 */
export function isProof(group: Group, loss: Loss, status: InPlaceRestartStatus, now: number): boolean {
  return isRelevant(loss, status) && (isFresh(group, loss) || (staysDown(loss) && now >= loss.at + STALE_MS));
}

/** When a loss that may be outdated becomes proof by lasting, in milliseconds since 1970. */
export function proofAt(group: Group, status: InPlaceRestartStatus): number | undefined {
  const doubtful = [...group.losses.values()].filter(
    (loss) => epochRuns(status) && isRelevant(loss, status) && staysDown(loss) && !isFresh(group, loss),
  );
  return doubtful.length === 0 ? undefined : Math.min(...doubtful.map(({ at }) => at + STALE_MS));
}

/** No worker of a held stage runs, so its Pods may come and go. */
function isRelevant({ epoch, stage }: Loss, { syncedEpoch, heldStages }: InPlaceRestartStatus): boolean {
  return epoch === syncedEpoch && !heldStages.includes(stage);
}

/** Whether the ended run was first seen after the last sync. */
export function isFresh({ baseline }: Pick<Group, "baseline">, { runSeenAt }: Loss): boolean {
  return runSeenAt === undefined || runSeenAt > baseline;
}

function staysDown({ requestedAction }: Loss): boolean {
  return requestedAction !== "restart";
}
