// The end of an epoch: one of its workers or Pods failed, or a Pod has already moved on to the next epoch. Pure.
import type { RestartCause } from "../../src/api/in-place-restart.ts";
import { backoffOf } from "../escalation/backoff.ts";
import { describeSlotStreak } from "../escalation/describe-streak.ts";
import { exemptionOf } from "../escalation/exemption.ts";
import { permittedRung, rungFor } from "../escalation/ladder.ts";
import { countRuleFailures } from "../escalation/rule-failures.ts";
import { streakWith } from "../escalation/streak.ts";
import { budgetOf, describeRestart, isSpent } from "../escalation/used-budget.ts";
import { findBlame } from "../group/blame.ts";
import { epochRuns } from "../group/epochs.ts";
import type { Group } from "../group/group.ts";
import { timestamp } from "../status/conditions.ts";
import { describeCause, describeLastWords, withRecord } from "../status/history.ts";
import { wasResumed } from "../status/resumed.ts";
import { readyCount } from "../status/summary.ts";
import { type Context, restartNotice, type Step } from "./rule.ts";

/**
 * Ends the running epoch for the whole group at the first sign that it has ended for one Pod. That Pod is blamed for
 * now: settle-blame has the last word when the failures of the others are known too.
 */
export function endEpoch({ group, jobSet, status, now, policy, rule }: Context): Step | undefined {
  if (!epochRuns(status)) return undefined;
  const blame = findBlame(group, status, now);
  if (blame === undefined) return undefined;
  const { cause, at, blamed } = blame;
  // Which Pods an unseen suspension has ended, and which have failed for the lack of these, is not known.
  const isUnseen = cause.reason === "PodDeleted" || cause.reason === "PodRestarted";
  const isChargeable = blame.counted && !(isUnseen && wasResumed(jobSet, status));
  const exemption = isChargeable ? exemptionOf(group, jobSet, blamed?.pod) : undefined;
  const counted = isChargeable && exemption === undefined;
  const failed = isChargeable && exemption?.ignored !== true && isFailure(cause);
  const attribution = failed && blamed !== undefined ? { slot: blamed.slot } : "no-failure";
  const streak = streakWith(status, attribution, at, policy.progressAfter);
  const budget = budgetOf(jobSet, status.restarts);
  // Beyond the budget too: only enforce-budget fails the JobSet, when it is known what became of every Pod.
  const isCulprit = blame.requestedAction === "recreate" || isAlone(group);
  const escalates = failed && isCulprit && (!counted || !isSpent(budget));
  const rung = escalates ? rungFor(blame.requestedAction, streak, jobSet, policy) : "RestartInPlace";
  const stage = group.jobs.get(blamed?.job ?? "")?.job.replicatedJob ?? "";
  const action = permittedRung(rung, jobSet, stage, counted);
  const target = action === "RecreatePod" ? blamed?.pod : action === "RecreateJobSet" ? blamed?.job : undefined;
  const delay = failed ? backoffOf(streak, policy) : 0;
  const recorded = withRecord(isChargeable ? countRuleFailures(group, jobSet, status, now) : status, {
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
  const exempt = exemption === undefined ? "" : `: ${exemption.why}`;
  const count = counted ? describeRestart(budget) : `not counted as a restart${exempt}`;
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
  return reason === "ContainerExited" || reason === "PodFailed" || reason === "PodRestarted";
}
