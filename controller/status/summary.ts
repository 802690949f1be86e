// What people see of a group: phase, ready count and conditions, derived from the epochs and the Pods. Nothing here is
// read back by a decision except the time since which the group waits. Pure.
import { type InPlaceRestartStatus, MESSAGE_LIMIT, type Phase } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import type { Condition } from "../../src/api/metadata.ts";
import type { Group } from "../group/group.ts";
import { expectedSlots } from "../group/slots.ts";
import { participants, unfilled } from "../group/startup-order.ts";
import { awaitedTermination } from "./awaited-termination.ts";
import { clip } from "./clip.ts";
import { describeHold, openRecord } from "./history.ts";

type Status = InPlaceRestartStatus;

export const CONDITION = {
  /** Every worker whose turn has come runs. */
  ready: "Ready",
  /** The group waits for all of its Pods to reach the next epoch. */
  atBarrier: "AtBarrier",
  /** The others run; a stage whose turn has come waits for all of its Pods. */
  stageWaits: "StageWaiting",
  /** It has waited for longer than a start takes. */
  stalled: "Stalled",
  /** A Pod does not end, and its replacement cannot come before. */
  waitingForTermination: "WaitingForTermination",
  budgetSpent: "BudgetSpent",
} as const;

/** Why a wait has stalled. Each ends with its own wait. */
export const STALL = { atBarrier: "PodsMissing", stageWaits: "StageNotFilled" } as const;

export function present(group: Group, jobSet: JobSet, status: Status, now: number): Status {
  const phase = phaseOf(group, jobSet, status);
  const isBetween = status.deprecatedEpoch === status.syncedEpoch;
  // Where no Pod is asked for, nobody waits.
  const atBarrier = !jobSet.suspended && jobSet.outcome === "none" && isBetween && allExpected(group) > 0;
  const reason = jobSet.suspended ? "Suspended" : phase;
  const ready: Finding = { type: CONDITION.ready, status: phase === "Running", reason, message: READY_MESSAGES[phase] };
  const hold = atBarrier ? holdOf(status) : undefined;
  const barrier: Finding = {
    type: CONDITION.atBarrier,
    status: atBarrier,
    reason: hold === undefined ? reason : "BackOff",
    message: hold ?? (atBarrier ? `waiting for every Pod to reach epoch ${status.syncedEpoch + 1}` : ""),
  };
  const runs = !jobSet.suspended && jobSet.outcome === "none" && status.deprecatedEpoch < status.syncedEpoch;
  const waiting = runs ? unfilled(group, status).map(({ stage }) => stage.name) : [];
  const stage: Finding = {
    type: CONDITION.stageWaits,
    status: waiting.length > 0,
    reason,
    message:
      waiting.length > 0 ? `waiting for every Pod of ${waiting.join(", ")} to reach epoch ${status.syncedEpoch}` : "",
  };
  const lifted: Finding = { type: CONDITION.stalled, status: false, reason: "Lifted", message: "" };
  const findings = [
    ready,
    barrier,
    // Most groups never have such a stage, or a stall, to tell of.
    ...(stage.status || isKnown(status, stage.type) ? [stage] : []),
    ...(isLifted(status, { atBarrier, stageWaits: stage.status }) ? [lifted] : []),
    ...terminationFindings(group, status, atBarrier, now),
  ];
  let { conditions } = status;
  for (const finding of findings) conditions = withCondition(conditions, finding, now);
  return { ...status, phase, ready: readyText(group), conditions };
}

export function isStalled({ conditions }: Status): boolean {
  return conditions.some(({ type, status }) => type === CONDITION.stalled && status === "True");
}

/** Whether the wait that had stalled is over. */
function isLifted({ conditions }: Status, waits: Readonly<Record<keyof typeof STALL, boolean>>): boolean {
  const stalled = conditions.find(({ type }) => type === CONDITION.stalled);
  if (stalled?.status !== "True") return false;
  return stalled.reason === STALL.stageWaits ? !waits.stageWaits : !waits.atBarrier;
}

function terminationFindings(group: Group, status: Status, atBarrier: boolean, now: number): readonly Finding[] {
  const type = CONDITION.waitingForTermination;
  const awaited = atBarrier ? awaitedTermination(group, now) : undefined;
  if (awaited !== undefined) return [{ type, status: true, ...awaited }];
  return isKnown(status, type) ? [{ type, status: false, reason: "Terminated", message: "" }] : [];
}

interface Finding {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

export function withCondition(conditions: readonly Condition[], finding: Finding, now: number): readonly Condition[] {
  const status = finding.status ? "True" : "False";
  const before = conditions.find(({ type }) => type === finding.type);
  const since = before?.status === status ? before.lastTransitionTime : undefined;
  const message = clip(finding.message, MESSAGE_LIMIT);
  const after: Condition = { ...finding, status, message, lastTransitionTime: since ?? timestamp(now) };
  return before === undefined
    ? [...conditions, after]
    : conditions.map((condition) => (condition.type === finding.type ? after : condition));
}

/** RFC 3339 with milliseconds. */
export function timestamp(now: number): string {
  return new Date(now).toISOString();
}

const READY_MESSAGES: Readonly<Record<Phase, string>> = {
  Starting: "the workers have not started yet",
  Running: "every worker runs",
  Restarting: "the group restarts in place",
  Completed: "the JobSet has completed",
  Failed: "the JobSet has failed",
};

/** Everybody is back at a barrier that stays down for a while. */
function holdOf(status: Status): string | undefined {
  const record = openRecord(status);
  return record?.backoffUntil === undefined || record.allRestarted === undefined ? undefined : describeHold(record);
}

function isKnown({ conditions }: Status, type: string): boolean {
  return conditions.some((condition) => condition.type === type);
}

function phaseOf(group: Group, jobSet: JobSet, status: Status): Phase {
  if (jobSet.outcome !== "none") return jobSet.outcome;
  const last = status.history.at(-1);
  if (isKnown(status, CONDITION.budgetSpent) || last?.action === "FailJobSet") return "Failed";
  if (openRecord(status) !== undefined && !jobSet.suspended) return "Restarting";
  if (status.deprecatedEpoch === status.syncedEpoch) return "Starting";
  if (allRunning(group, status)) return "Running";
  if (last?.toEpoch === status.syncedEpoch && last.allRunning === undefined) return "Restarting";
  return status.phase === "Running" ? "Running" : "Starting";
}

/** Whether every worker whose stage is not held runs in the synced epoch. */
export function allRunning(group: Group, { heldStages, deprecatedEpoch, syncedEpoch }: Status): boolean {
  return (
    deprecatedEpoch < syncedEpoch &&
    participants(group).every(
      (tally) =>
        heldStages.includes(tally.stage.name) ||
        tally.startedJobs === 0 ||
        tally.running + tally.done >= expectedSlots(tally),
    )
  );
}

function allExpected(group: Group): number {
  return participants(group).reduce((sum, tally) => sum + expectedSlots(tally), 0);
}

function readyText(group: Group): string {
  const stages = participants(group);
  const expected = allExpected(group);
  const ready = stages.reduce((sum, tally) => sum + tally.ready + tally.done, 0);
  return `${ready}/${expected}`;
}
