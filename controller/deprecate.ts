// The end of an epoch: a worker or a Pod of it is lost, or a Pod has already gone on to the next one. Pure.
import type { RestartAction, RestartCause, RestartRecord, Streak } from "../src/api/in-place-restart.ts";
import type { JobSet } from "../src/api/jobset.ts";
import type { RestartPolicy } from "../src/api/restart-policy.ts";
import { backoffOf } from "./backoff.ts";
import { budgetOf, isSpent } from "./budget.ts";
import { epochOf, epochRuns } from "./epochs.ts";
import { rungFor } from "./escalation.ts";
import { isProof } from "./evidence.ts";
import type { Group, Loss, Member } from "./group.ts";
import { describeCause, openRecord, withRecord } from "./history.ts";
import { timestamp } from "./present.ts";
import { participants } from "./startup-order.ts";
import { restartNotice, type Status, type Step, spend } from "./step.ts";
import { streakWith } from "./streak.ts";
import { wasResumed } from "./suspension.ts";

/** Somebody's loss: whose, and what he asks for. */
interface Lost extends Pick<Loss, "cause" | "counted" | "at" | "ask"> {
  readonly slot?: Slot;
}

interface Slot {
  readonly pod: string;
  readonly job: string;
  /** Such as "train-workers-0/1". */
  readonly name: string;
}

/** Ends the running epoch for everybody, at the first sign that it has ended for one. */
export function deprecate(
  group: Group,
  jobSet: JobSet,
  status: Status,
  now: number,
  policy: RestartPolicy,
): Step | undefined {
  if (!epochRuns(status)) return undefined;
  const lost = seenLoss(group, status, now) ?? unseenLoss(group, status, now);
  if (lost === undefined) return undefined;
  const { cause, at, slot } = lost;
  const counted = lost.counted && !(cause.reason === "PodDeleted" && wasResumed(jobSet, status));
  const streak = streakWith(status, counted && isFailure(cause) ? slot?.name : undefined, at, policy.progressAfter);
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
  const action = counted && !isSpent(budget) ? rungFor(lost.ask, streak, jobSet, policy) : "RestartInPlace";
  const target = action === "RecreatePod" ? slot?.pod : action === "RecreateJobSet" ? slot?.job : undefined;
  const delay = counted ? backoffOf(streak, policy) : 0;
  const deprecated = withRecord(status, {
    ...record,
    action,
    ...(target === undefined ? {} : { target }),
    ...(delay === 0 ? {} : { heldUntil: timestamp(at + delay) }),
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

function isFailure({ reason }: RestartCause): boolean {
  return reason === "ContainerExited" || reason === "PodFailed" || reason === "PodRestarted";
}

function seenLoss(group: Group, status: Status, now: number): Lost | undefined {
  for (const [pod, loss] of group.losses) {
    if (!isProof(group, loss, status, now)) continue;
    const job = group.jobs.get(loss.job)?.job.name ?? "";
    return { ...loss, slot: { pod, job: loss.job, name: `${job}/${loss.index}` } };
  }
  return undefined;
}

function slotOf({ pod }: Member): Slot {
  const { uid, controller, completionIndex } = pod;
  return { pod: uid, job: controller?.uid ?? "", name: `${controller?.name ?? ""}/${completionIndex ?? 0}` };
}

/** Pods in the next epoch while the last one runs: the group has lost somebody, and nobody saw how. */
function unseenLoss(group: Group, status: Status, now: number): Lost | undefined {
  const { syncedEpoch, held } = status;
  if (participants(group).every(({ epochs }) => !epochs.has(syncedEpoch + 1))) return undefined;
  const isHeld = ({ pod }: Member) => held.includes(pod.replicatedJob);
  const ahead = [...group.members.values()].filter(
    (member) => member.standing === "live" && epochOf(member) === syncedEpoch + 1,
  );
  const restarted = ahead.find((member) => !isHeld(member) && !isReplacement(member));
  if (restarted !== undefined)
    return {
      cause: { reason: "PodRestarted", pod: restarted.pod.name },
      counted: true,
      ask: "restart",
      at: now,
      slot: slotOf(restarted),
    };
  // A worker that fails does not cost its Pod. Who lost a whole Pod unseen was most likely disrupted.
  if (ahead.some((member) => !isHeld(member)))
    return { cause: { reason: "PodDeleted" }, counted: false, ask: "restart", at: now };
  // The first Pods of a stage took the next epoch instead of waiting in this one; nothing of theirs has failed.
  const arrived = ahead[0]?.pod.name;
  return {
    cause: { reason: "PodRestarted", ...(arrived === undefined ? {} : { pod: arrived }) },
    counted: false,
    ask: "restart",
    at: now,
  };
}

/** A Pod in which no worker has run and nothing was restarted is new. */
function isReplacement({ pod, runs }: Member): boolean {
  return runs.size === 0 && pod.containers.every(({ restartCount }) => restartCount === 0);
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
  const { streak: _, heldUntil: __, ...rest } = record;
  const before = status.history.at(-2)?.streak;
  const excusedRecord = { ...rest, counted: false, ...(before === undefined ? {} : { streak: before }) };
  return { status: { ...status, history: [...status.history.slice(0, -1), excusedRecord] }, notices: [] };
}
