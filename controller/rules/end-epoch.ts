// The end of an epoch: a worker or a Pod of it is lost, or a Pod has already gone on to the next one. Pure.
import type { RestartAction, RestartCause, RestartRecord, Streak } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import type { RestartPolicy } from "../../src/api/restart-policy.ts";
import { backoffOf } from "../escalation/backoff.ts";
import { budgetOf, isSpent } from "../escalation/budget.ts";
import { rungFor } from "../escalation/ladder.ts";
import { streakWith } from "../escalation/streak.ts";
import { findLost } from "../group/blame.ts";
import { epochRuns } from "../group/epochs.ts";
import type { Group } from "../group/group.ts";
import { describeCause, openRecord, withRecord } from "../status/history.ts";
import { timestamp } from "../status/summary.ts";
import { wasResumed } from "./close-when-suspended.ts";
import { restartNotice, type Status, type Step, spend } from "./rule.ts";

/** Ends the running epoch for everybody, at the first sign that it has ended for one. */
export function deprecate(
  group: Group,
  jobSet: JobSet,
  status: Status,
  now: number,
  policy: RestartPolicy,
): Step | undefined {
  if (!epochRuns(status)) return undefined;
  const lost = findLost(group, status, now);
  if (lost === undefined) return undefined;
  const { cause, at, slot } = lost;
  const counted = lost.counted && !(cause.reason === "PodDeleted" && wasResumed(jobSet, status));
  const failed = counted && isFailure(cause);
  const streak = streakWith(status, failed ? slot?.name : undefined, at, policy.progressAfter);
  const budget = budgetOf(jobSet, status.restarts);
  const record: RestartRecord = {
    cause,
    action: "FailJobSet",
    ...(streak === undefined ? {} : { streak }),
    fromEpoch: status.syncedEpoch,
    counted,
    failureSeen: timestamp(at),
  };
  const certain = cause.reason === "ContainerExited" || cause.reason === "PodFailed";
  // A deletion may turn out to be a suspension, so only a sure failure fails the JobSet before the group is back.
  if (counted && certain && isSpent(budget))
    return spend(jobSet, withRecord(status, record), describeCause(cause), now);
  const action = failed && !isSpent(budget) ? rungFor(lost.ask, streak, jobSet, policy) : "RestartInPlace";
  const target = action === "RecreatePod" ? slot?.pod : action === "RecreateJobSet" ? slot?.job : undefined;
  const delay = failed ? backoffOf(streak, policy) : 0;
  const deprecated = withRecord(status, {
    ...record,
    action,
    ...(target === undefined ? {} : { target }),
    ...(delay === 0 ? {} : { backoffUntil: timestamp(at + delay) }),
    // JobSet counts what it recreates itself.
    counted: counted && action !== "RecreateJobSet",
    deprecated: timestamp(now),
  });
  const note = `${describeCause(cause)}; ${counted ? `restart ${budget.used + 1} of ${budget.max}` : "not counted as a restart"}`;
  return {
    status: { ...deprecated, deprecatedEpoch: status.syncedEpoch },
    notices: [restartNotice(action, `${note}${describeStreak(action, streak)}`)],
  };
}

/** Why it is not just a restart in place. */
function describeStreak(action: RestartAction, streak: Streak | undefined): string {
  if (action === "RestartInPlace" || streak === undefined || streak.failures === 1) return "";
  return `; ${streak.failures} failures of ${streak.slot} in a row without progress`;
}

/** A Pod that was deleted, or a state that was lost, is nobody's crash. */
function isFailure({ reason }: RestartCause): boolean {
  return reason === "ContainerExited" || reason === "PodFailed" || reason === "PodRestarted";
}

/**
 * A restart in which a disruption or a recreation by JobSet took part is not counted, even if another Pod failed first: it
 * adds nothing to the streak, and nobody waits for it.
 */
export function excuse(group: Group, status: Status): Step | undefined {
  const record = openRecord(status);
  if (record?.counted !== true) return undefined;
  const excused = [...group.losses.values()].some(({ epoch, counted }) => epoch === record.fromEpoch && !counted);
  if (!excused) return undefined;
  const { streak: _, backoffUntil: __, ...rest } = record;
  const before = status.history.at(-2)?.streak;
  const excusedRecord = { ...rest, counted: false, ...(before === undefined ? {} : { streak: before }) };
  return { status: { ...status, history: [...status.history.slice(0, -1), excusedRecord] }, notices: [] };
}
