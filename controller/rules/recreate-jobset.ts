// The recreation of everything, which is JobSet's to do, by its own failure policy and on its own count. The lever is the
// Job at fault: spec.activeDeadlineSeconds is documented, may be changed while a Job runs, and makes it fail with reason
// DeadlineExceeded whatever its Pods do. (Deleting the Job instead is no failure to JobSet, which just makes it anew; a
// lower backoffLimit does nothing to Pods that never fail; a Job's status belongs to its controller.) The new Jobs are made
// from the JobSet's template, which knows nothing of the deadline. Pure.
import type { Job } from "../../src/api/job.ts";
import type { Group } from "../group/group.ts";
import { isRecreated } from "../group/membership.ts";
import { openRecord } from "../status/history.ts";
import type { Status, Step } from "./rule.ts";

/** Every Job that runs Pods has run longer than this: it has passed as soon as it is set. The least the API takes. */
export const PAST_DEADLINE_SECONDS = 1;

export function recreateJobSet(group: Group, status: Status): Step | undefined {
  const job = condemnedJob(group, status);
  if (job === undefined || isRecreated(job) || job.activeDeadlineSeconds === PAST_DEADLINE_SECONDS) return undefined;
  const { name, uid } = job;
  return { status, notices: [], removal: { kind: "fail-job", job: { name, uid } } };
}

/**
 * Until the Job is gone the barrier stays down: whoever comes back to it meanwhile goes as well. Seen by the Jobs, too, because a state that
 * was lost remembers nothing, and Jobs also fail without our help.
 */
export function awaitsRecreation(group: Group, status: Status): boolean {
  return condemnedJob(group, status) !== undefined || [...group.jobs.values()].some(({ job }) => fails(group, job));
}

/** JobSet answers the failure of a Job by making Jobs anew, or by its own end. */
function fails({ jobSet }: Group, { controller, outcome, activeDeadlineSeconds }: Job): boolean {
  if (controller?.uid !== jobSet?.uid || outcome === "Complete") return false;
  return outcome === "Failed" || activeDeadlineSeconds === PAST_DEADLINE_SECONDS;
}

/** One that completed after all can no longer be made to fail. */
function condemnedJob({ jobs }: Group, status: Status): Job | undefined {
  const { action, target = "" } = openRecord(status) ?? {};
  const job = action === "RecreateJobSet" ? jobs.get(target)?.job : undefined;
  return job?.outcome === "Complete" ? undefined : job;
}
