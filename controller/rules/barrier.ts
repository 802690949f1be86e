// Whether the barrier could be lifted, for the rules that then fail, hold or lift it. Pure.
import { epochRuns, highestEpoch, highestPlausible } from "../group/epochs.ts";
import { participants, type StageTally } from "../group/group.ts";
import { dueStages, isComplete, isTogether } from "../group/startup-order.ts";
import { awaitsRecreation } from "./recreate-jobset.ts";
import type { Context } from "./rule.ts";

/** Every slot of the stages that start first has reached the next epoch, and no Pod is left in an earlier one. */
export function isEveryPodBack({ group, jobSet, status }: Context): boolean {
  const epoch = status.syncedEpoch + 1;
  if (epochRuns(status) || jobSet.suspended || highestEpoch(group, highestPlausible(status)) !== epoch) return false;
  // A terminating Pod may still run a worker of an earlier epoch, even if its Job is gone.
  if (group.ending.size > 0) return false;
  const due = new Set(dueStages(group));
  // A stage that starts later is held, and waits for the rest of its Pods then.
  const isBack = (tally: StageTally) => (due.has(tally) ? isComplete(tally, epoch) : isTogether(tally, epoch));
  return participants(group).every(isBack) && !awaitsRecreation(group, status);
}
