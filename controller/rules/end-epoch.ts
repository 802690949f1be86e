// The end of an epoch: one of its workers or Pods failed, or a Pod has already moved on to the next epoch. Pure.
import type { RestartAction, RestartCause, Streak } from "../../src/api/in-place-restart.ts";
import { backoffOf } from "../escalation/backoff.ts";
import { type Budget, budgetOf, isSpent } from "../escalation/budget.ts";
import { rungFor } from "../escalation/ladder.ts";
import { streakWith } from "../escalation/streak.ts";
import { findBlame } from "../group/blame.ts";
import { epochRuns } from "../group/epochs.ts";
import { timestamp } from "../status/conditions.ts";
import { describeCause, withRecord } from "../status/history.ts";
import { wasResumed } from "../status/resumed.ts";
import { type Context, restartNotice, type Step } from "./rule.ts";

/** Ends the running epoch for the whole group at the first sign that it has ended for one Pod. */
export function endEpoch({ group, jobSet, status, now, policy, rule }: Context): Step | undefined {
  if (!epochRuns(status)) return undefined;
  const blame = findBlame(group, status, now);
  if (blame === undefined) return undefined;
  const { cause, at, blamed } = blame;
  // Which Pods a suspension that nobody saw has ended, and which have failed for the lack of these, is not known.
  const isUnseen = cause.reason === "PodDeleted" || cause.reason === "PodRestarted";
  const counted = blame.counted && !(isUnseen && wasResumed(jobSet, status));
  const failed = counted && isFailure(cause);
  const streak = streakWith(status, failed ? blamed?.slot : undefined, at, policy.progressAfter);
  const budget = budgetOf(jobSet, status.restarts);
  // Beyond the budget too: only enforce-budget fails the JobSet, when it is known what became of every Pod.
  const action = failed && !isSpent(budget) ? rungFor(blame.requestedAction, streak, jobSet, policy) : "RestartInPlace";
  const target = action === "RecreatePod" ? blamed?.pod : action === "RecreateJobSet" ? blamed?.job : undefined;
  const delay = failed ? backoffOf(streak, policy) : 0;
  const recorded = withRecord(status, {
    cause,
    action,
    rule,
    ...(streak === undefined ? {} : { streak }),
    fromEpoch: status.syncedEpoch,
    failureSeen: timestamp(at),
    ...(target === undefined ? {} : { target }),
    ...(delay === 0 ? {} : { backoffUntil: timestamp(at + delay) }),
    // JobSet counts its own recreations.
    counted: counted && action !== "RecreateJobSet",
    deprecated: timestamp(now),
  });
  const count = counted ? describeCount(budget) : "not counted as a restart";
  const note = `${describeCause(cause)}; ${count}${describeStreak(action, streak)}`;
  return {
    status: { ...recorded, deprecatedEpoch: status.syncedEpoch },
    notices: [restartNotice(action, note)],
  };
}

function describeCount(budget: Budget): string {
  if (!isSpent(budget)) return `restart ${budget.used + 1} of ${budget.max}`;
  const outlook = "so the JobSet fails unless a disruption turns out to be the cause";
  return `the budget of ${budget.max} restarts is spent, ${outlook}`;
}

/** Why the action is stronger than a restart in place. */
function describeStreak(action: RestartAction, streak: Streak | undefined): string {
  if (action === "RestartInPlace" || streak === undefined || streak.failures === 1) return "";
  return `; ${streak.failures} failures of ${streak.slot} in a row without progress`;
}

/** Whether a worker failed. A deleted Pod or a lost status is not a crash. */
function isFailure({ reason }: RestartCause): boolean {
  return reason === "ContainerExited" || reason === "PodFailed" || reason === "PodRestarted";
}
