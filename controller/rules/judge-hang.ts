// A group whose workers all have stopped making progress: an Event and a condition, or a restart in place, as the
// JobSet says. Pure.
import { CANDIDATE_LIMIT, type RestartCause } from "../../src/api/in-place-restart.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import { backoffOf } from "../escalation/backoff.ts";
import { describeGroupStreak, describeSlotStreak } from "../escalation/describe-streak.ts";
import { permittedRung, rungForGroup, rungForHang } from "../escalation/ladder.ts";
import { streakWith } from "../escalation/streak.ts";
import { budgetOf, describeRestart, isSpent } from "../escalation/used-budget.ts";
import { findHang, type GroupHang } from "../group/hang.ts";
import { slotName } from "../group/slots.ts";
import { CONDITION, isHung, timestamp, withCondition } from "../status/conditions.ts";
import { describeCause, withRecord } from "../status/history.ts";
import type { Notice } from "../status/notice.ts";
import { type Context, restartNotice, type Step } from "./rule.ts";

/**
 * The write that ends the epoch is the restart: reports belong to an epoch, so that no hang restarts a group twice. The
 * blame is final, because what fails afterwards fails for the restart.
 */
export function judgeHang(context: Context): Step | undefined {
  const { group, jobSet, status, now } = context;
  const hang = findHang(group, jobSet, status);
  if (hang === undefined || hang.at > now) return undefined;
  if (jobSet.annotations[ANNOTATION.onHang] === "restart") return restart(context, hang);
  if (isHung(status)) return undefined;
  const note = describeCause(causeOf(hang));
  const hung = { type: CONDITION.hung, status: true, reason: "NoProgress", message: note };
  return {
    status: { ...status, conditions: withCondition(status.conditions, hung, now) },
    notices: [hungNotice(`${note}; not restarted, because ${ANNOTATION.onHang} is not "restart"`)],
  };
}

/** When the verdict is due, in milliseconds since 1970. */
export function hangAt({ group, jobSet, status }: Pick<Context, "group" | "jobSet" | "status">): number | undefined {
  return findHang(group, jobSet, status)?.at;
}

function restart(
  { jobSet, status, now, policy, rule }: Context,
  { blamed, stopped }: Pick<GroupHang, "blamed" | "stopped">,
): Step {
  const cause = causeOf({ blamed, stopped });
  const pod = blamed?.pod;
  const attribution = pod === undefined ? "unexplained" : { slot: slotName(pod.controller?.name, pod.completionIndex) };
  const streak = streakWith(status, attribution, now, policy.progressAfter, cause.step);
  const budget = budgetOf(jobSet, status.restarts);
  const { controller, replicatedJob = "" } = pod ?? stopped[0]?.member.pod ?? {};
  const step = pod === undefined ? rungForGroup(streak, jobSet, policy) : rungForHang(streak, jobSet, policy);
  // Beyond the budget only enforce-budget acts, when every Pod is back.
  const rung = isSpent(budget) ? "RestartInPlace" : permittedRung(step, jobSet, replicatedJob, true);
  // A new Pod for one of them heals nothing if it is not known which one is to blame.
  const action = rung === "RecreatePod" && pod === undefined ? "RestartInPlace" : rung;
  const target = action === "RecreatePod" ? pod?.uid : action === "RecreateJobSet" ? controller?.uid : undefined;
  const delay = backoffOf(streak, policy);
  const at = timestamp(now);
  const recorded = withRecord(status, {
    cause,
    action,
    rule,
    ...(streak === undefined ? {} : { streak }),
    fromEpoch: status.syncedEpoch,
    failureSeen: at,
    ...(target === undefined ? {} : { target }),
    ...(delay === 0 ? {} : { backoffUntil: timestamp(now + delay) }),
    // JobSet counts its own recreations.
    counted: action !== "RecreateJobSet",
    deprecated: at,
  });
  const note = describeCause(cause);
  const streaks = pod === undefined ? describeGroupStreak(action, streak) : describeSlotStreak(action, streak);
  return {
    status: { ...recorded, deprecatedEpoch: status.syncedEpoch },
    notices: [hungNotice(note), restartNotice(action, `${note}; ${describeRestart(budget)}${streaks}`)],
  };
}

function hungNotice(note: string): Notice {
  return { type: "Warning", reason: "GroupHung", action: "Judge", note };
}

function causeOf({ blamed, stopped }: Pick<GroupHang, "blamed" | "stopped">): RestartCause {
  const first = stopped.find(({ member }) => member === blamed) ?? stopped[0];
  const { since = 0, step, rank } = first ?? {};
  return {
    reason: "Hung",
    ...(blamed === undefined
      ? { candidates: stopped.slice(0, CANDIDATE_LIMIT).map(({ member }) => member.pod.name) }
      : { pod: blamed.pod.name }),
    since: timestamp(since),
    ...(step === undefined ? {} : { step }),
    ...(rank === undefined || blamed === undefined ? {} : { rank }),
  };
}
