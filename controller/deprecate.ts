// The end of an epoch: a worker or a Pod of it is lost, or a Pod has already gone on to the next one. Pure.
import type { JobSet } from "../src/api/jobset.ts";
import { budgetOf, isSpent } from "./budget.ts";
import { epochOf, epochRuns } from "./epochs.ts";
import type { Group, Loss, Member } from "./group.ts";
import { amended, describeCause, openRecord, withRecord } from "./history.ts";
import { timestamp } from "./present.ts";
import { participants } from "./startup-order.ts";
import { restartNotice, type Status, type Step, spend } from "./step.ts";
import { wasResumed } from "./suspension.ts";

/** Ends the running epoch for everybody, at the first sign that it has ended for one. */
export function deprecate(group: Group, jobSet: JobSet, status: Status, now: number): Step | undefined {
  if (!epochRuns(status)) return undefined;
  const loss =
    [...group.losses.values()].find((each) => endsEpoch(group, each, status)) ?? unseenLoss(group, status, now);
  if (loss === undefined) return undefined;
  const { cause, at } = loss;
  const counted = loss.counted && !(cause.reason === "PodDeleted" && wasResumed(jobSet, status));
  const failureSeen = timestamp(at);
  const record = { cause, fromEpoch: status.syncedEpoch, counted, failureSeen };
  const budget = budgetOf(jobSet, status.restarts);
  const certain = cause.reason === "ContainerExited" || cause.reason === "PodFailed";
  // A deletion may turn out to be a suspension, so only a sure failure fails the JobSet before the group is back.
  if (counted && certain && isSpent(budget))
    return spend(jobSet, withRecord(status, record), describeCause(cause), now);
  const deprecated = withRecord(status, { ...record, deprecated: timestamp(now) });
  const note = `${describeCause(cause)}; ${counted ? `restart ${budget.used + 1} of ${budget.max}` : "not counted as a restart"}`;
  return { status: { ...deprecated, deprecatedEpoch: status.syncedEpoch }, notices: [restartNotice(note)] };
}

function endsEpoch(group: Group, loss: Loss, { syncedEpoch, held }: Status): boolean {
  // No worker of a held stage runs: its Pods come and go without harm.
  if (loss.epoch !== syncedEpoch || held.includes(loss.stage)) return false;
  return loss.runSeenAt === undefined || loss.runSeenAt > group.baseline;
}

/** Pods in the next epoch while the last one runs: the group has lost somebody, and nobody saw how. */
function unseenLoss(group: Group, status: Status, now: number): Pick<Loss, "cause" | "counted" | "at"> | undefined {
  const { syncedEpoch, held } = status;
  if (participants(group).every(({ epochs }) => !epochs.has(syncedEpoch + 1))) return undefined;
  const isHeld = ({ pod }: Member) => held.includes(pod.replicatedJob);
  const ahead = [...group.members.values()].filter(
    (member) => member.standing === "live" && epochOf(member) === syncedEpoch + 1,
  );
  const restarted = ahead.find((member) => !isHeld(member) && !isReplacement(member));
  if (restarted !== undefined)
    return { cause: { reason: "PodRestarted", pod: restarted.pod.name }, counted: true, at: now };
  // A worker that fails does not cost its Pod. Who lost a whole Pod unseen was most likely disrupted.
  if (ahead.some((member) => !isHeld(member))) return { cause: { reason: "PodDeleted" }, counted: false, at: now };
  // The first Pods of a stage took the next epoch instead of waiting in this one; nothing of theirs has failed.
  const arrived = ahead[0]?.pod.name;
  return {
    cause: { reason: "PodRestarted", ...(arrived === undefined ? {} : { pod: arrived }) },
    counted: false,
    at: now,
  };
}

/** A Pod in which no worker has run and nothing was restarted is new. */
function isReplacement({ pod, runs }: Member): boolean {
  return runs.size === 0 && pod.containers.every(({ restartCount }) => restartCount === 0);
}

/** A restart in which a disruption or a recreation by JobSet took part is not counted, even if another Pod failed first. */
export function excuse(group: Group, status: Status): Step | undefined {
  const record = openRecord(status);
  if (record?.counted !== true) return undefined;
  const excused = [...group.losses.values()].some(({ epoch, counted }) => epoch === record.fromEpoch && !counted);
  return excused ? { status: amended(status, { counted: false }), notices: [] } : undefined;
}
