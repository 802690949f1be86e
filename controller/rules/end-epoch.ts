// The end of an epoch: one of its workers or Pods failed, or a Pod has already moved on to the next epoch. Pure.
import type { RestartCause, RestartRecord } from "../../src/api/in-place-restart.ts";
import { backoffOf } from "../escalation/backoff.ts";
import { budgetOf, isSpent } from "../escalation/budget.ts";
import { describeSlotStreak } from "../escalation/describe-streak.ts";
import { rungFor } from "../escalation/ladder.ts";
import { streakWith } from "../escalation/streak.ts";
import { findBlame } from "../group/blame.ts";
import { epochRuns } from "../group/epochs.ts";
import type { Group } from "../group/group.ts";
import { timestamp } from "../status/conditions.ts";
import { describeCause, describeLastWords, withRecord } from "../status/history.ts";
import { wasResumed } from "../status/resumed.ts";
import { readyCount } from "../status/summary.ts";
import { type Context, restartNotice, type Step } from "./rule.ts";
import { failOverBudget } from "./spend-budget.ts";

/**
 * Ends the running epoch for the whole group at the first sign that it has ended for one Pod. That Pod is blamed for
 * now: settle-blame has the last word when the failures of the others are known too.
 */
export function endEpoch({ group, jobSet, status, now, policy, rule }: Context): Step | undefined {
  if (!epochRuns(status)) return undefined;
  const blame = findBlame(group, status, now);
  if (blame === undefined) return undefined;
  const { cause, at, blamed } = blame;
  const counted = blame.counted && !(cause.reason === "PodDeleted" && wasResumed(jobSet, status));
  const failed = counted && isFailure(cause);
  const attribution = failed && blamed !== undefined ? { slot: blamed.slot } : "no-failure";
  const streak = streakWith(status, attribution, at, policy.progressAfter);
  const budget = budgetOf(jobSet, status.restarts);
  const record: RestartRecord & { readonly rule: string } = {
    cause,
    action: "FailJobSet",
    rule,
    ...(streak === undefined ? {} : { streak }),
    fromEpoch: status.syncedEpoch,
    counted,
    failureSeen: timestamp(at),
  };
  // A deletion may turn out to be a suspension, so only a certain failure fails the JobSet here; see enforce-budget.
  if (counted && isCertain(cause) && isSpent(budget))
    return failOverBudget(jobSet, withRecord(status, record), describeCause(cause), now);
  const isCulprit = blame.requestedAction === "recreate" || isAlone(group);
  const escalates = failed && isCulprit && !isSpent(budget);
  const action = escalates ? rungFor(blame.requestedAction, streak, jobSet, policy) : "RestartInPlace";
  const target = action === "RecreatePod" ? blamed?.pod : action === "RecreateJobSet" ? blamed?.job : undefined;
  const delay = failed ? backoffOf(streak, policy) : 0;
  const recorded = withRecord(status, {
    ...record,
    action,
    ...(target === undefined ? {} : { target }),
    ...(delay === 0 ? {} : { backoffUntil: timestamp(at + delay) }),
    // JobSet counts its own recreations.
    counted: counted && action !== "RecreateJobSet",
    deprecated: timestamp(now),
  });
  const count = counted ? `restart ${budget.used + 1} of ${budget.max}` : "not counted as a restart";
  const note = `${describeCause(cause)}; ${count}${describeSlotStreak(action, streak)}${describeLastWords(cause)}`;
  return {
    status: { ...recorded, deprecatedEpoch: status.syncedEpoch },
    notices: [restartNotice(action, note)],
  };
}

/** Whether the group is a single Pod, which cannot fail because of another one. */
export function isAlone(group: Group): boolean {
  return readyCount(group).expected === 1;
}

/** Whether a worker failed. A deleted Pod or a lost status is not a crash. */
export function isFailure({ reason }: RestartCause): boolean {
  return isCertain({ reason }) || reason === "PodRestarted";
}

function isCertain({ reason }: RestartCause): boolean {
  return reason === "ContainerExited" || reason === "PodFailed";
}
