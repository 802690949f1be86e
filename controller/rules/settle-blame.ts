// Who is to blame for a restart. The epoch ends at the first failure that is seen, but peers of a failed worker exit
// within milliseconds and their kubelets report in any order. So blame waits until every Pod is back and all failures
// of the epoch are known; the restart itself is not delayed. Pure.
import { CANDIDATE_LIMIT, type RestartCause, type RestartRecord, type Streak } from "../../src/api/in-place-restart.ts";
import { exemptionOf } from "../escalation/exemption.ts";
import { planRecovery } from "../escalation/plan.ts";
import { type Attribution, isInStreak, streakBefore, streakWith } from "../escalation/streak.ts";
import { findCandidates, findCulprit, findRequested } from "../group/culprit.ts";
import { lastStepOf } from "../group/last-step.ts";
import { findSuspects, type Suspect } from "../group/suspects.ts";
import { describeCause, describeLastWords, openRecord } from "../status/history.ts";
import { isEveryPodBack } from "./barrier.ts";
import { isAlone, isFailure } from "./end-epoch.ts";
import { type Context, restartNotice, type Step } from "./rule.ts";

export function settleBlame(context: Context): Step | undefined {
  const { group, status, now } = context;
  const record = openRecord(status);
  if (record === undefined || !isProvisional(context, record) || isAlone(group)) return undefined;
  const isBack = isEveryPodBack(context);
  // A code of the recreate class is certain at once.
  if (!isBack && group.requests.size === 0) return undefined;
  const { suspects, deleted, doubtful, healthy, isComplete } = findSuspects(group, status, record, now);
  const requested = findRequested(suspects);
  if (requested !== undefined) return judge(context, record, requested, suspects, []);
  if (!isBack) return undefined;
  if (deleted !== undefined) return blameDeletion(context, record, deleted.cause);
  const culprit = isComplete ? findCulprit(suspects, { doubtful: doubtful.length, healthy }) : undefined;
  // A process that has not seen the whole epoch has missed the reports of most.
  return judge(context, record, culprit, suspects, isComplete ? doubtful : []);
}

/** Whether the record still has the blame that end-epoch gave it. Once every Pod was back, it is final. */
function isProvisional({ status, policy, rule }: Context, record: RestartRecord): boolean {
  const { action, counted, cause, allRestarted } = record;
  if (action !== "RestartInPlace" || record.rule === rule || allRestarted !== undefined) return false;
  // A disruption has taken the failure out of the streak. A rule of the user that does not count it has not.
  return isFailure(cause) && (counted || isInStreak(status, policy.progressAfter));
}

function judge(
  context: Context,
  record: RestartRecord,
  culprit: Suspect | undefined,
  suspects: readonly Suspect[],
  doubtful: readonly Suspect[],
): Step | undefined {
  const cause = culprit?.cause ?? unexplained(record.cause, suspects, doubtful);
  const exemption = culprit === undefined ? undefined : exemptionOf(context.group, context.jobSet, culprit.uid);
  const counted = culprit === undefined ? isUnexplainedCounted(context, record, suspects) : exemption === undefined;
  const isIgnored = exemption?.ignored === true;
  const streak = streakAfter(context, record, attributionOf(culprit, isIgnored));
  const { why, ...plan } = planRecovery(context, culprit, suspects, streak, counted);
  const { action } = plan;
  const isSettled = isSame(cause, record.cause) && streak?.restarts === record.streak?.restarts;
  if (counted === record.counted && action === "RestartInPlace" && isSettled) return undefined;
  const { streak: _, backoffUntil, ...rest } = record;
  const settled = {
    ...rest,
    ...plan,
    cause,
    ...(streak === undefined ? {} : { streak }),
    ...(isIgnored || backoffUntil === undefined ? {} : { backoffUntil }),
    // JobSet counts its own recreations.
    counted: counted && action !== "RecreateJobSet",
  };
  const note = `${describeCause(cause)}${why}${describeLastWords(cause)}`;
  return withSettled(context, settled, action === "RestartInPlace" ? [] : [restartNotice(action, note)]);
}

/** If it is not known who failed first, and a rule exempts only some of them, the first report decides. */
function isUnexplainedCounted(
  { group, jobSet }: Context,
  { counted }: RestartRecord,
  suspects: readonly Suspect[],
): boolean {
  const candidates = findCandidates(suspects);
  const exempted = candidates.filter(({ uid }) => exemptionOf(group, jobSet, uid) !== undefined);
  if (exempted.length === 0) return candidates.length > 0 || counted;
  return exempted.length < candidates.length && counted;
}

function attributionOf(culprit: Suspect | undefined, isIgnored: boolean): Attribution {
  if (isIgnored) return "no-failure";
  return culprit === undefined ? "unexplained" : { slot: culprit.slot };
}

/** A Pod was deleted, and others failed because of it: no worker is to blame, and there is nothing to wait for. */
function blameDeletion(context: Context, record: RestartRecord, cause: RestartCause): Step {
  const { streak: _, backoffUntil: __, ...rest } = record;
  const streak = streakBefore(context.status, context.policy.progressAfter);
  return withSettled(context, { ...rest, cause, ...(streak === undefined ? {} : { streak }) }, []);
}

function withSettled({ status, rule }: Context, record: RestartRecord, notices: Step["notices"]): Step {
  return { status: { ...status, history: status.history.with(-1, { ...record, rule }) }, notices };
}

/** The streak with this restart, on top of the records before it. */
function streakAfter(
  { group, status, policy }: Context,
  { failureSeen = "" }: RestartRecord,
  attribution: Attribution,
): Streak | undefined {
  const earlier = { history: status.history.slice(0, -1) };
  return streakWith(earlier, attribution, Date.parse(failureSeen), policy.progressAfter, lastStepOf(group, status));
}

/** Which Pod failed first is not known. What those have in common that are known to have failed is kept. */
function unexplained(
  { reason, pod }: RestartCause,
  suspects: readonly Suspect[],
  doubtful: readonly Suspect[],
): RestartCause {
  const first = findCandidates(suspects).map(({ cause }) => cause);
  const [{ container, exitCode, message } = {}] = first;
  const isCommon = first.every((cause) => cause.container === container && cause.exitCode === exitCode);
  const known = first.length === 0 ? [pod] : first.map((cause) => cause.pod);
  const candidates = [...known, ...doubtful.map((each) => each.cause.pod)];
  return {
    reason,
    ...(isCommon && container !== undefined ? { container } : {}),
    ...(isCommon && exitCode !== undefined ? { exitCode } : {}),
    ...(message === undefined ? {} : { message }),
    candidates: candidates.filter((name) => name !== undefined).slice(0, CANDIDATE_LIMIT),
  };
}

function isSame(a: RestartCause, b: RestartCause): boolean {
  return a.candidates === undefined && a.reason === b.reason && a.pod === b.pod && a.exitCode === b.exitCode;
}
