// Whether it is known what became of every Pod after an epoch has ended. A lost node is noticed most of a minute after
// the failures that it causes in other Pods, so before that no failure may be final. A Pod that is back at the barrier
// proves that its node is alive. Pure.
import { epochOf, epochRuns } from "../group/epochs.ts";
import { type Group, type Loss, participants, type StageTally } from "../group/group.ts";
import { expectedSlots } from "../group/slots.ts";
import { dueStages } from "../group/startup-order.ts";
import { awaitsRecreation } from "./recreate-jobset.ts";
import type { Context } from "./rule.ts";

/** Every slot is done, holds a Pod that is back at the barrier, or is known to have failed by itself. */
export function isEverySlotAccountedFor({ group, jobSet, status }: Context): boolean {
  if (epochRuns(status) || jobSet.suspended || group.ending.size > 0 || awaitsRecreation(group, status)) return false;
  const epoch = status.syncedEpoch + 1;
  const due = new Set(dueStages(group));
  const failed = failedSlots(group, status.syncedEpoch, epoch);
  return participants(group).every((tally) => {
    const known = (tally.epochs.get(epoch) ?? 0) + (failed.get(tally.stage.name)?.size ?? 0);
    // A stage that starts later need not be complete.
    return known >= (due.has(tally) ? expectedSlots(tally) - tally.done : livePods(tally));
  });
}

function livePods({ epochs, unpublished }: StageTally): number {
  return [...epochs.values()].reduce((sum, count) => sum + count, unpublished);
}

/** The slots in which a worker failed in the epoch that ended, and whose Pod is not back yet; by stage. */
function failedSlots(group: Group, ended: number, next: number): ReadonlyMap<string, ReadonlySet<string>> {
  const slots = new Map<string, Set<string>>();
  for (const loss of group.losses.values()) {
    if (loss.epoch !== ended || !isFailure(loss) || isBack(group, loss, next)) continue;
    const known = slots.get(loss.stage);
    if (known === undefined) slots.set(loss.stage, new Set([loss.slot]));
    else known.add(loss.slot);
  }
  return slots;
}

function isFailure({ cause }: Loss): boolean {
  return cause.reason === "ContainerExited" || cause.reason === "PodFailed";
}

function isBack({ jobs, members }: Group, { job, index }: Loss, epoch: number): boolean {
  return [...(jobs.get(job)?.slots.get(index)?.live ?? [])].some((uid) => epochOf(members.get(uid)) === epoch);
}
