// Recreation of the whole JobSet, done by JobSet itself: by its own failure policy, and on its own count. To trigger it
// the Job at fault is made to fail with spec.activeDeadlineSeconds, the documented field that can be changed while a
// Job runs. Deleting the Job would not do, because JobSet takes that for no failure; a lower backoffLimit has no effect
// on Pods that never fail; and only the Job controller writes a Job's status. New Jobs come from the JobSet's template,
// which does not have the deadline. Pure.
import type { Job } from "../../src/api/job.ts";
import type { Group } from "../group/group.ts";
import { isRecreated } from "../group/membership.ts";
import { openRecord } from "../status/history.ts";
import type { Context, Status, Step } from "./rule.ts";

/**
 * The smallest value that the API accepts. Every Job with running Pods has run longer, so it expires when it is set.
 */
export const PAST_DEADLINE_SECONDS = 1;

export function recreateJobSet({ group, status }: Context): Step | undefined {
  const job = jobToFail(group, status);
  if (job === undefined || isRecreated(job) || job.activeDeadlineSeconds === PAST_DEADLINE_SECONDS) return undefined;
  const { name, uid } = job;
  return { status, notices: [], removal: { kind: "fail-job", job: { name, uid } } };
}

/**
 * Whether JobSet has yet to delete a failing Job. The barrier stays down until then, because every Pod goes with it.
 * The Jobs are checked as well as the record: the record may be lost, and a Job can fail without this rule.
 */
export function awaitsRecreation(group: Group, status: Status): boolean {
  return jobToFail(group, status) !== undefined || [...group.jobs.values()].some(({ job }) => isFailing(group, job));
}

/** JobSet reacts to a failed Job by recreating its Jobs, or by failing. */
function isFailing({ jobSet }: Group, { controller, outcome, activeDeadlineSeconds }: Job): boolean {
  if (controller?.uid !== jobSet?.uid || outcome === "Complete") return false;
  return outcome === "Failed" || activeDeadlineSeconds === PAST_DEADLINE_SECONDS;
}

/** A Job that completed in the meantime can no longer be made to fail. */
function jobToFail({ jobs }: Group, status: Status): Job | undefined {
  const { action, target = "" } = openRecord(status) ?? {};
  const job = action === "RecreateJobSet" ? jobs.get(target)?.job : undefined;
  return job?.outcome === "Complete" ? undefined : job;
}
