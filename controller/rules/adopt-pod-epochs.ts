// A status that lags behind its Pods: it was created from an outdated list of Pods. Pure.
import { epochRuns, highestEpoch, highestPlausible } from "../group/epochs.ts";
import { restartFromEpoch } from "./lost-epochs.ts";
import type { Context, Step } from "./rule.ts";

/**
 * At the barrier an agent is at most one epoch ahead. A Pod further ahead shows the epoch that the group had really
 * reached. (While an epoch runs no agent can have written such an epoch: it is reported and ignored.)
 */
export function adoptPodEpochs(context: Context): Step | undefined {
  const { group, status } = context;
  const highest = highestEpoch(group, highestPlausible(status));
  return epochRuns(status) || highest <= status.syncedEpoch + 1 ? undefined : restartFromEpoch(context, highest);
}
