// The beginning of an epoch: the barrier is lifted, later stages follow in their order, and the restart is over. Pure.
import type { JobSet } from "../src/api/jobset.ts";
import { holdBarrier } from "./backoff.ts";
import { budgetOf, isSpent } from "./budget.ts";
import { epochRuns, highestEpoch } from "./epochs.ts";
import type { Group } from "./group.ts";
import { amended, describeCause, openRecord } from "./history.ts";
import { allRunning, timestamp } from "./present.ts";
import { awaitsRecreation } from "./recreate-jobset.ts";
import { dueStages, heldAtSync, isComplete, participants, releasable } from "./startup-order.ts";
import { type Notice, type Status, type Step, spend } from "./step.ts";

/** Lifts the barrier when every slot has reached the next epoch. The restart is counted here: only now its cause is final. */
export function sync(group: Group, jobSet: JobSet, status: Status, now: number): Step | undefined {
  const epoch = status.syncedEpoch + 1;
  if (epochRuns(status) || jobSet.suspended || highestEpoch(group) !== epoch) return undefined;
  if (awaitsRecreation(group, status)) return undefined;
  const due = new Set(dueStages(group));
  const here = participants(group).every((tally) => (due.has(tally) ? isComplete(tally, epoch) : tally.ending === 0));
  if (!here) return undefined;
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
  return { status: { ...recorded, syncedEpoch: epoch, held: heldAtSync(group), restarts }, notices: [] };
}

export function release(group: Group, status: Status): Step | undefined {
  if (!epochRuns(status)) return undefined;
  const released = releasable(group, status);
  if (released.length === 0) return undefined;
  return { status: { ...status, held: status.held.filter((name) => !released.includes(name)) }, notices: [] };
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
