// Whether a loss proves that the synced epoch has ended. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import { epochRuns } from "./epochs.ts";
import { graceOverNext, isWorkBeingSaved } from "./grace.ts";
import type { Group, Loss, LossTally } from "./group.ts";

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
export function proofTest(group: Group, status: InPlaceRestartStatus, now: number): (loss: Loss) => boolean {
  const saving = isWorkBeingSaved(group, status, now);
  return (loss) => {
    if (!isRelevant(loss, status)) return false;
    if (isDeparture(loss)) return !saving;
    return isFresh(group, loss) || (staysDown(loss) && now >= loss.at + STALE_MS);
  };
}

/**
 * The losses that prove it, with the UIDs of their Pods, in the order in which they were seen. Goes through the losses
 * only if there may be one in a tally that the filter accepts; the caller filters the losses.
 */
export function* proofs(
  group: Group,
  status: InPlaceRestartStatus,
  now: number,
  accepts: (tally: LossTally) => boolean = () => true,
): Generator<readonly [string, Loss]> {
  const saving = isWorkBeingSaved(group, status, now);
  const mayProve = (tally: LossTally) => {
    if (!isRelevant(tally, status) || !accepts(tally)) return false;
    return tally.departure ? !saving : tally.fresh || staysDown(tally);
  };
  if (![...group.lossTallies.values()].some(mayProve)) return;
  const isProof = proofTest(group, status, now);
  for (const entry of group.losses) if (isProof(entry[1])) yield entry;
}

/** Those of them whose exit code requests this action. */
export function requestedProofs(
  group: Group,
  status: InPlaceRestartStatus,
  now: number,
  action: Loss["requestedAction"],
): readonly (readonly [string, Loss])[] {
  const requests = ({ requestedAction }: Pick<Loss, "requestedAction">) => requestedAction === action;
  return [...proofs(group, status, now, requests)].filter(([, loss]) => requests(loss));
}

/** When a loss that is none yet, or may be outdated, becomes proof by lasting, in milliseconds since 1970. */
export function proofAt(group: Group, status: InPlaceRestartStatus, now: number): number | undefined {
  if (!epochRuns(status)) return undefined;
  let first = graceOverNext(group, status, now) ?? Number.POSITIVE_INFINITY;
  const isDoubtful = (tally: LossTally) => isRelevant(tally, status) && staysDown(tally) && !tally.fresh;
  if ([...group.lossTallies.values()].some(isDoubtful)) {
    for (const loss of group.losses.values())
      if (isRelevant(loss, status) && staysDown(loss) && !isFresh(group, loss))
        first = Math.min(first, loss.at + STALE_MS);
  }
  return first === Number.POSITIVE_INFINITY ? undefined : first;
}

/** Whether the Pod was taken away, and no worker of it failed by itself. */
export function isDeparture({ cause }: Pick<Loss, "cause">): boolean {
  return cause.reason === "PodDeleted" || cause.reason === "Disruption";
}

/** No worker of a held stage runs, so its Pods may come and go. */
function isRelevant(
  { epoch, stage }: Pick<Loss, "epoch" | "stage">,
  { syncedEpoch, heldStages }: InPlaceRestartStatus,
): boolean {
  return epoch === syncedEpoch && !heldStages.includes(stage);
}

/** Whether the ended run was first seen after the last sync. */
export function isFresh({ baseline }: Pick<Group, "baseline">, { runSeenAt }: Loss): boolean {
  return runSeenAt === undefined || runSeenAt > baseline;
}

function staysDown({ requestedAction }: Pick<Loss, "requestedAction">): boolean {
  return requestedAction !== "restart";
}
