// The rules of the JobSet's failurePolicy. They decide about a failure in place as they would about a Job that failed
// of it: the first rule that matches reason, message and replicatedJob. Pure.
import type { FailureRule, JobSet } from "../../src/api/jobset.ts";
import { compilePattern } from "../../src/api/message-pattern.ts";
import { asMap } from "../../src/json/fields.ts";
import { podFailureRuleOf } from "../group/exit-classes.ts";
import type { Loss } from "../group/group.ts";

/** A Job that failed, as its controller would report it. */
interface FailedJob {
  readonly replicatedJob: string;
  readonly reason: "BackoffLimitExceeded" | "PodFailurePolicy" | "DeadlineExceeded";
  readonly message: string;
}

/** A Job whose Pods have crashed once more than its backoffLimit allows. */
export function crashed(replicatedJob: string): FailedJob {
  return {
    replicatedJob,
    reason: "BackoffLimitExceeded",
    message: "Job has reached the specified backoff limit",
  };
}

/** A Job that the controller makes fail to have JobSet recreate everything; see recreate-jobset. */
function pastDeadline(replicatedJob: string): FailedJob {
  return { replicatedJob, reason: "DeadlineExceeded", message: "Job was active longer than specified deadline" };
}

/** A Job whose podFailurePolicy fails it for the exit code of this loss. */
export function failedByPolicy({ namespace, replicatedJobs }: JobSet, { stage, cause }: Loss): FailedJob {
  const { pod, container, exitCode } = cause;
  const template = replicatedJobs.find(({ name }) => name === stage)?.template;
  const rule = podFailureRuleOf(container, asMap(template?.["spec"]))(exitCode ?? 0);
  const where = `Container ${container} for pod ${namespace}/${pod}`;
  const message = `${where} failed with exit code ${exitCode} matching FailJob rule at index ${rule?.index ?? 0}`;
  return { replicatedJob: stage, reason: "PodFailurePolicy", message };
}

export function ruleFor({ failurePolicy }: JobSet, failed: FailedJob): FailureRule | undefined {
  return failurePolicy?.rules?.find((rule) => applies(rule, failed));
}

function applies(rule: FailureRule, { replicatedJob, reason, message }: FailedJob): boolean {
  const { targetReplicatedJobs: targets, onJobFailureReasons: reasons, onJobFailureMessagePatterns: patterns } = rule;
  if (targets.length > 0 && !targets.includes(replicatedJob)) return false;
  if (reasons.length > 0 && !reasons.includes(reason)) return false;
  return patterns.length === 0 || patterns.some((pattern) => compilePattern(pattern)?.(message) === true);
}

/** Whether the rule lets JobSet restart without counting. */
export function isExempt(rule: FailureRule | undefined): boolean {
  return rule?.action === "RestartJobSetAndIgnoreMaxRestarts" || rule?.action === "RestartJobAndIgnoreMaxRestarts";
}

/** Whether the ladder may have JobSet recreate everything through a Job of this replicatedJob. */
export function mayRecreateJobSet(jobSet: JobSet, replicatedJob: string, counted: boolean): boolean {
  const recreation = recreationAfter(jobSet, pastDeadline(replicatedJob));
  // A failure that is not counted must not use up recreations that JobSet counts.
  return recreation === "exempt" || (recreation === "counted" && counted);
}

/** Whether JobSet recreates Jobs when this one fails, and whether it counts that. If not, the JobSet fails. */
export function recreationAfter(jobSet: JobSet, failed: FailedJob): "counted" | "exempt" | "none" {
  const { failurePolicy, restartsCountTowardsMax } = jobSet;
  const rule = ruleFor(jobSet, failed);
  if (isExempt(rule)) return "exempt";
  if (failurePolicy === undefined || rule?.action === "FailJobSet") return "none";
  return restartsCountTowardsMax < failurePolicy.maxRestarts ? "counted" : "none";
}
