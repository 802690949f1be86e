// Some of a replicatedJob's Pods have succeeded and another fails. The ranks of a collective all start together or not at
// all: those that are left would wait in place for ever for one that is done. So JobSet recreates everything, as it does
// without reprise when one of them fails; and as without reprise it fails where it has no recreation left, whatever is left of the
// group's own budget. Pods that can finish without each other may `continue` instead. Pure.
import type { RestartCause, RestartRecord } from "../../src/api/in-place-restart.ts";
import type { Job } from "../../src/api/job.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import { budgetOf, isSpent } from "../escalation/budget.ts";
import { mayRecreate } from "../escalation/ladder.ts";
import type { Group, StageTally } from "../group/group.ts";
import { isRecreated } from "../group/membership.ts";
import { expectedSlots } from "../group/slots.ts";
import { participants } from "../group/startup-order.ts";
import { amended, describeCause, openRecord } from "../status/history.ts";
import { restartNotice, type Status, type Step, spend } from "./rule.ts";

/** Looked at while the restart is open, because a Pod may also succeed in the moment in which another one fails. */
export function recreateAfterPartialSuccess(
  group: Group,
  jobSet: JobSet,
  status: Status,
  now: number,
): Step | undefined {
  const record = openRecord(status);
  if (record === undefined || isUnderWay(group, record) || mayContinue(jobSet) || !isWorthIt(record, jobSet))
    return undefined;
  const stage = participants(group).find(isPartlyDone);
  const job = stage === undefined ? undefined : unfinishedJob(group, stage);
  if (stage === undefined || job === undefined) return undefined;
  const cause = describeCause(record.cause);
  if (record.counted && isSpent(budgetOf(jobSet, status.restarts)))
    return spend(jobSet, amended(status, { action: "FailJobSet" }), cause, now);
  const done = `${stage.done} of ${expectedSlots(stage)} Pods of ${stage.stage.name} have succeeded`;
  return {
    // JobSet counts what it recreates itself.
    status: amended(status, { action: "RecreateJobSet", target: job.uid, counted: false }),
    notices: [restartNotice("RecreateJobSet", `${cause}, but ${done} and cannot restart in place${outlook(jobSet)}`)],
  };
}

/** A rule of the JobSet may recreate beyond its limit, so it is asked even then. */
function outlook(jobSet: JobSet): string {
  return mayRecreate(jobSet)
    ? ""
    : "; failurePolicy.maxRestarts leaves no recreation, so the JobSet fails unless a rule of it says otherwise";
}

/**
 * Nobody has failed where a state was lost, or Pods came back after a suspension. And a disruption, which no budget pays for, must not cost a
 * JobSet without recreations its life: there a Pod that was evicted starts again by itself, as it does without reprise.
 */
function isWorthIt({ counted, cause }: RestartRecord, jobSet: JobSet): boolean {
  return counted || (ENDS_A_RANK.has(cause.reason) && mayRecreate(jobSet));
}

const ENDS_A_RANK: ReadonlySet<RestartCause["reason"]> = new Set(["Disruption", "ContainerExited", "PodFailed"]);

/** A Job that completed after all can no longer be made to fail. */
function isUnderWay({ jobs }: Group, { action, target = "" }: RestartRecord): boolean {
  return action === "RecreateJobSet" && jobs.get(target)?.job.outcome !== "Complete";
}

function mayContinue({ annotations }: JobSet): boolean {
  return annotations[ANNOTATION.onPartialSuccess] === "continue";
}

/** A replicatedJob that is done altogether is one that others were to come after, and takes no part in their restart. */
function isPartlyDone(tally: StageTally): boolean {
  return tally.done > 0 && tally.done < expectedSlots(tally);
}

function unfinishedJob({ jobs, jobSet }: Group, { stage }: StageTally): Job | undefined {
  for (const { job, slots } of jobs.values()) {
    if (job.replicatedJob !== stage.name || job.controller?.uid !== jobSet?.uid || isRecreated(job)) continue;
    const done = [...slots.values()].filter((slot) => slot.done).length;
    // All its Pods may have succeeded before it says so itself.
    if (job.outcome === "none" && done < job.parallelism) return job;
  }
  return undefined;
}
