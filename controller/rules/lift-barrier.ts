// The beginning of an epoch: the barrier is lifted, later stages follow in their order, and the restart is over. Pure.
import type { JobSet } from "../../src/api/jobset.ts";
import { holdBarrier } from "../escalation/backoff.ts";
import { budgetOf, isSpent } from "../escalation/budget.ts";
import { epochRuns, highestEpoch, highestPlausible } from "../group/epochs.ts";
import type { Group, StageTally } from "../group/group.ts";
import { dueStages, heldAtSync, isComplete, isTogether, participants, releasable } from "../group/startup-order.ts";
import { amended, describeCause, openRecord } from "../status/history.ts";
import { allRunning, timestamp } from "../status/summary.ts";
import { awaitsRecreation } from "./recreate-jobset.ts";
import { type Notice, type Status, type Step, spend } from "./rule.ts";

/** Lifts the barrier when every slot has reached the next epoch. The restart is counted here: only now its cause is final. */
export function sync(group: Group, jobSet: JobSet, status: Status, now: number): Step | undefined {
  const epoch = status.syncedEpoch + 1;
  if (epochRuns(status) || jobSet.suspended || highestEpoch(group, highestPlausible(status)) !== epoch)
    return undefined;
  // A Pod that ends may run a worker of an earlier epoch, whatever its stage, and whether or not its Job is still there.
  if (group.ending.size > 0) return undefined;
  const due = new Set(dueStages(group));
  // A stage whose turn comes later is held, and waits for the rest of its Pods then.
  const here = (tally: StageTally) => (due.has(tally) ? isComplete(tally, epoch) : isTogether(tally, epoch));
  if (!participants(group).every(here) || awaitsRecreation(group, status)) return undefined;
  const record = openRecord(status);
  if (record?.counted === true && isSpent(budgetOf(jobSet, status.restarts))) {
    return spend(jobSet, amended(status, { action: "FailJobSet" }), describeCause(record.cause), now);
  }
  const hold = holdBarrier(status, record, now);
  if (hold !== undefined) return hold;
  const at = timestamp(now);
  const recorded =
    record === undefined
      ? status
      : amended(status, { toEpoch: epoch, allRestarted: record.allRestarted ?? at, synced: at });
  const restarts = status.restarts + (record?.counted === true ? 1 : 0);
  return { status: { ...recorded, syncedEpoch: epoch, heldStages: heldAtSync(group), restarts }, notices: [] };
}

export function release(group: Group, status: Status): Step | undefined {
  if (!epochRuns(status)) return undefined;
  const released = releasable(group, status);
  if (released.length === 0) return undefined;
  return {
    status: { ...status, heldStages: status.heldStages.filter((name) => !released.includes(name)) },
    notices: [],
  };
}

export function finishRestart(group: Group, status: Status, now: number): Step | undefined {
  const last = status.history.at(-1);
  if (last?.toEpoch !== status.syncedEpoch || last.allRunning !== undefined || !allRunning(group, status))
    return undefined;
  const seconds = (now - Date.parse(last.failureSeen ?? timestamp(now))) / 1_000;
  const notice: Notice = {
    type: "Normal",
    reason: "RestartedInPlace",
    action: "Restart",
    note: `every worker runs again in epoch ${status.syncedEpoch}, ${seconds.toFixed(1)} s after the failure was seen (${describeCause(last.cause)})`,
  };
  return { status: amended(status, { allRunning: timestamp(now) }), notices: [notice] };
}
