// The summary of a group that `kubectl get` and `kubectl describe` show: phase, ready count and conditions, derived
// from the epochs and the Pods. Decisions read nothing back from it except how long the group has been waiting. Pure.
import { formatReady, type InPlaceRestartStatus, type Phase, type ReadyCount } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { epochRuns } from "../group/epochs.ts";
import { type Group, participants } from "../group/group.ts";
import { findHang } from "../group/hang.ts";
import { expectedSlots } from "../group/slots.ts";
import { unfilledStages } from "../group/startup-order.ts";
import { account } from "./availability.ts";
import { awaitedTermination } from "./awaited-termination.ts";
import { CONDITION, type ConditionUpdate, hasCondition, isHung, STALL, withCondition } from "./conditions.ts";
import { describeHold, openRecord } from "./history.ts";

type Status = InPlaceRestartStatus;

export function summarize(group: Group, jobSet: JobSet, status: Status, now: number): Status {
  const phase = phaseOf(group, jobSet, status);
  const isActive = !jobSet.suspended && jobSet.outcome === "none";
  // A group without Pods waits for nothing.
  const atBarrier = isActive && !epochRuns(status) && readyCount(group).expected > 0;
  const reason = jobSet.suspended ? "Suspended" : phase;
  const hold = atBarrier ? holdOf(status) : undefined;
  const waiting = isActive && epochRuns(status) ? unfilledStages(group, status).map(({ stage }) => stage.name) : [];
  const stageWaits = waiting.length > 0;
  const updates: readonly ConditionUpdate[] = [
    { type: CONDITION.ready, status: phase === "Running", reason, message: READY_MESSAGES[phase] },
    {
      type: CONDITION.atBarrier,
      status: atBarrier,
      reason: hold === undefined ? reason : "BackOff",
      message: hold ?? (atBarrier ? `waiting for every Pod to reach epoch ${status.syncedEpoch + 1}` : ""),
    },
    // The conditions below appear with their first occurrence: most groups never have one of them.
    ...(stageWaits || hasCondition(status, CONDITION.stageWaits) ? [stageUpdate(status, waiting, reason)] : []),
    ...(isStallOver(status, { atBarrier, stageWaits })
      ? [{ type: CONDITION.stalled, status: false, reason: "Lifted", message: "" }]
      : []),
    ...(isHung(status) && findHang(group, jobSet, status) === undefined
      ? [{ type: CONDITION.hung, status: false, reason: "Moving", message: "" }]
      : []),
    ...terminationUpdates(group, status, atBarrier, now),
  ];
  const conditions = updates.reduce((known, update) => withCondition(known, update, now), status.conditions);
  const summary = { ...status, phase, ready: formatReady(readyCount(group)), conditions };
  return { ...summary, availability: account(jobSet, summary, now) };
}

/** Pods that are ready or have succeeded, out of those the group has when it is complete. */
export function readyCount(group: Group): ReadyCount {
  const stages = participants(group);
  return {
    ready: stages.reduce((sum, tally) => sum + tally.ready + tally.done, 0),
    expected: stages.reduce((sum, tally) => sum + expectedSlots(tally), 0),
  };
}

/** Whether every worker whose stage is not held runs in the synced epoch. */
export function allRunning(group: Group, status: Status): boolean {
  return (
    epochRuns(status) &&
    participants(group).every(
      (tally) =>
        status.heldStages.includes(tally.stage.name) ||
        tally.startedJobs === 0 ||
        tally.running + tally.done >= expectedSlots(tally),
    )
  );
}

const READY_MESSAGES: Readonly<Record<Phase, string>> = {
  Starting: "the workers have not started yet",
  Running: "every worker is running",
  Restarting: "the group is restarting in place",
  Completed: "the JobSet has completed",
  Failed: "the JobSet has failed",
};

function phaseOf(group: Group, jobSet: JobSet, status: Status): Phase {
  if (jobSet.outcome !== "none") return jobSet.outcome;
  const last = status.history.at(-1);
  if (hasCondition(status, CONDITION.budgetSpent) || last?.action === "FailJobSet") return "Failed";
  if (openRecord(status) !== undefined && !jobSet.suspended) return "Restarting";
  if (!epochRuns(status)) return "Starting";
  if (allRunning(group, status)) return "Running";
  if (last?.toEpoch === status.syncedEpoch && last.allRunning === undefined) return "Restarting";
  return status.phase === "Running" ? "Running" : "Starting";
}

/** Every Pod is back, and only the back-off holds the barrier. */
function holdOf(status: Status): string | undefined {
  const record = openRecord(status);
  return record?.backoffUntil === undefined || record.allRestarted === undefined ? undefined : describeHold(record);
}

function stageUpdate({ syncedEpoch }: Status, waiting: readonly string[], reason: string): ConditionUpdate {
  const status = waiting.length > 0;
  const message = status ? `waiting for every Pod of ${waiting.join(", ")} to reach epoch ${syncedEpoch}` : "";
  return { type: CONDITION.stageWaits, status, reason, message };
}

/** Whether the wait that stalled has ended. */
function isStallOver({ conditions }: Status, waits: Readonly<Record<keyof typeof STALL, boolean>>): boolean {
  const stalled = conditions.find(({ type }) => type === CONDITION.stalled);
  if (stalled?.status !== "True") return false;
  return stalled.reason === STALL.stageWaits ? !waits.stageWaits : !waits.atBarrier;
}

function terminationUpdates(group: Group, status: Status, atBarrier: boolean, now: number): readonly ConditionUpdate[] {
  const type = CONDITION.waitingForTermination;
  const awaited = atBarrier ? awaitedTermination(group, now) : undefined;
  if (awaited !== undefined) return [{ type, status: true, ...awaited }];
  return hasCondition(status, type) ? [{ type, status: false, reason: "Terminated", message: "" }] : [];
}
