// The policies of the JobSet in a simulation, as JobSet's own controller applies them.
import type { Job } from "../api/job.ts";
import type { FailureRule, JobSet, SuccessPolicy } from "../api/jobset.ts";

export interface PolicyShape {
  /** Absent: every Job has to complete. */
  readonly successPolicy?: SuccessPolicy;
  /** Of failurePolicy. */
  readonly rules?: readonly FailureRule[];
  /** Exit codes that fail the JobSet. */
  readonly failCodes?: readonly number[];
  /** By stage, as the user wrote them. */
  readonly backoffLimits?: Readonly<Record<string, number>>;
}

/** Whether JobSet completes: `expected` is the number of Jobs of each stage. */
export function isSuccess(policy: SuccessPolicy | undefined, jobs: readonly Job[], expected: Map<string, number>) {
  const { operator = "All", targetReplicatedJobs: named = [] } = policy ?? {};
  const targets = named.length === 0 ? [...expected.keys()] : named;
  const done = jobs.filter(
    (job) => targets.includes(job.replicatedJob) && job.outcome === "Complete" && job.deletionTimestamp === undefined,
  );
  const required = targets.reduce((sum, name) => sum + (expected.get(name) ?? 0), 0);
  return done.length >= (operator === "Any" ? 1 : required);
}

/** What JobSet does about a Job that exceeded its deadline, which is how the controller makes one fail. */
export function actionAfterDeadline({ failurePolicy }: JobSet, job: Job): FailureRule["action"] {
  const rule = failurePolicy?.rules?.find(
    ({ targetReplicatedJobs: targets, onJobFailureReasons: reasons, onJobFailureMessagePatterns: patterns }) =>
      (targets.length === 0 || targets.includes(job.replicatedJob)) &&
      (reasons.length === 0 || reasons.includes("DeadlineExceeded")) &&
      patterns.length === 0,
  );
  return rule?.action ?? "RestartJobSet";
}
