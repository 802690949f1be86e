// A Pod fails after other Pods of its replicatedJob have succeeded. The ranks of a collective start together: the Pods
// that are left would wait forever for the ones that are done. So JobSet recreates everything. If it has no recreation
// left, the Pods that are left restart in place within the budget: without reprise, their Job would retry them too.
// Pods that can finish without each other set on-partial-success to `continue`. Pure.
import type { RestartCause, RestartRecord } from "../../src/api/in-place-restart.ts";
import type { Job } from "../../src/api/job.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import { mayRecreate } from "../escalation/ladder.ts";
import { budgetOf, isSpent } from "../escalation/used-budget.ts";
import { type Group, participants, type StageTally } from "../group/group.ts";
import { isRecreated } from "../group/membership.ts";
import { expectedSlots } from "../group/slots.ts";
import { changeAction, describeCause, openRecord } from "../status/history.ts";
import { isEverySlotAccountedFor } from "./accounted-for.ts";
import { type Context, restartNotice, type Step } from "./rule.ts";
import { failOverBudget } from "./spend-budget.ts";

/** Checked as long as the restart is open: a Pod may succeed at the moment in which another one fails. */
export function recreateAfterPartialSuccess(context: Context): Step | undefined {
  const { group, jobSet, status, now, rule } = context;
  const record = openRecord(status);
  if (record === undefined || isUnderWay(group, record) || mayContinue(jobSet) || !needsRecreation(record, jobSet))
    return undefined;
  const stage = participants(group).find(isPartlyDone);
  const job = stage === undefined ? undefined : unfinishedJob(group, stage);
  if (stage === undefined || job === undefined) return undefined;
  const cause = describeCause(record.cause);
  const isSpentNow = isSpent(budgetOf(jobSet, status.restarts));
  // A disruption that is noticed later must not have failed the JobSet.
  if (record.counted && (isSpentNow || !mayRecreate(jobSet)) && !isEverySlotAccountedFor(context)) return undefined;
  if (record.counted && isSpentNow)
    return failOverBudget(jobSet, changeAction(status, { action: "FailJobSet", rule }), cause, now);
  const done = `${stage.done} of ${expectedSlots(stage)} Pods of ${stage.stage.name} have succeeded`;
  const note = `${cause}, but ${done} and cannot restart in place`;
  return {
    // JobSet counts its own recreations.
    status: changeAction(status, { action: "RecreateJobSet", rule, target: job.uid, counted: false }),
    notices: [restartNotice("RecreateJobSet", note)],
  };
}

/** A lost status or a resumption is not a failure, but a disruption ends a rank even though no budget is charged. */
function needsRecreation({ counted, cause }: RestartRecord, jobSet: JobSet): boolean {
  return mayRecreate(jobSet) && (counted || ENDS_A_RANK.has(cause.reason));
}

const ENDS_A_RANK: ReadonlySet<RestartCause["reason"]> = new Set(["Disruption", "ContainerExited", "PodFailed"]);

/** A Job that completed in the meantime can no longer be made to fail. */
function isUnderWay({ jobs }: Group, { action, target = "" }: RestartRecord): boolean {
  return action === "RecreateJobSet" && jobs.get(target)?.job.outcome !== "Complete";
}

function mayContinue({ annotations }: JobSet): boolean {
  return annotations[ANNOTATION.onPartialSuccess] === "continue";
}

/** A replicatedJob that is done completely was a step before the others, and takes no part in their restart. */
function isPartlyDone(tally: StageTally): boolean {
  return tally.done > 0 && tally.done < expectedSlots(tally);
}

function unfinishedJob({ jobs, jobSet }: Group, { stage }: StageTally): Job | undefined {
  for (const { job, slots } of jobs.values()) {
    if (job.replicatedJob !== stage.name || job.controller?.uid !== jobSet?.uid || isRecreated(job)) continue;
    const done = [...slots.values()].filter((slot) => slot.done).length;
    // All Pods of a Job may have succeeded before its status shows it.
    if (job.outcome === "none" && done < job.parallelism) return job;
  }
  return undefined;
}
