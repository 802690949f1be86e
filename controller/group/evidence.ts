// Whether a loss proves that the synced epoch has ended. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import { epochRuns } from "./epochs.ts";
import { graceOverNext, isWorkBeingSaved } from "./grace.ts";
import type { Group, Loss } from "./group.ts";

/** A kubelet reports within seconds. A worker that is still down after this long has not been restarted since. */
const STALE_MS = 15_000;

/**
 * A run that was known before the sync may belong to an earlier epoch that an outdated Pod status still shows, so its
 * end proves nothing. But a worker that no rule restarts stays down and sends no other sign: if it lasts, it is not
 * outdated.
 *
 * A Pod that is going away has not failed. The epoch has not ended before its workers have, nor while those of another
 * such Pod are saving their work.
 */
export function isProof(group: Group, loss: Loss, status: InPlaceRestartStatus, now: number): boolean {
  if (!isRelevant(loss, status)) return false;
  if (isDeparture(loss)) return !isWorkBeingSaved(group, status, now);
  return isFresh(group, loss) || (staysDown(loss) && now >= loss.at + STALE_MS);
}

/** When a loss that is none yet, or may be outdated, becomes proof by lasting, in milliseconds since 1970. */
export function proofAt(group: Group, status: InPlaceRestartStatus, now: number): number | undefined {
  if (!epochRuns(status)) return undefined;
  const doubtful = [...group.losses.values()].filter(
    (loss) => isRelevant(loss, status) && staysDown(loss) && !isFresh(group, loss),
  );
  const times = [...doubtful.map(({ at }) => at + STALE_MS), graceOverNext(group, status, now) ?? Infinity];
  const first = Math.min(...times);
  return first === Infinity ? undefined : first;
}

/** Whether the Pod was taken away, and no worker of it failed by itself. */
export function isDeparture({ cause }: Pick<Loss, "cause">): boolean {
  return cause.reason === "PodDeleted" || cause.reason === "Disruption";
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
