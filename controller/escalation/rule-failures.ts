// Retries of a Job before a FailJobSet rule applies to it. Without reprise, a Job starts a crashed Pod again as often
// as its backoffLimit says, and only then fails. So many crashes restart the group in place; the next one is final.
// Pure.
import { backoffLimitOf } from "../../src/api/backoff-limits.ts";
import { type InPlaceRestartStatus, RULE_FAILURES_LIMIT, type RuleFailures } from "../../src/api/in-place-restart.ts";
import type { FailureRule, JobSet } from "../../src/api/jobset.ts";
import type { Group, Loss } from "../group/group.ts";
import { ownCrashes } from "../group/own-crash.ts";
import { crashed, ruleFor } from "./failure-rules.ts";

type Status = InPlaceRestartStatus;

/** What a rule depends on: the Job that a failure belongs to, and its epoch. */
type FailedJob = Pick<Loss, "stage" | "job" | "epoch">;

/** The rule that makes this failure final. */
export function finalRuleFor(jobSet: JobSet, status: Status, loss: FailedJob): FailureRule | undefined {
  const rule = failJobSetRule(jobSet, loss);
  if (rule === undefined) return undefined;
  const { failures = 0, epoch } = status.ruleFailures?.find(({ job }) => job === loss.job) ?? {};
  // While the restart is open, this failure may have been counted already.
  const before = epoch === loss.epoch ? failures - 1 : failures;
  return before >= backoffLimitOf(jobSet.annotations, loss.stage) ? rule : undefined;
}

/** The stages in which a crash may be final. Most of the time none is, and no crash has to be looked at. */
export function stagesWithFinalRule(group: Group, jobSet: JobSet, status: Status): ReadonlySet<string> {
  const most = (status.ruleFailures ?? []).reduce((highest, { failures }) => Math.max(highest, failures), 0);
  const stages = [...stagesWithRule(group, jobSet)];
  return new Set(stages.filter((stage) => most >= backoffLimitOf(jobSet.annotations, stage)));
}

function stagesWithRule(group: Group, jobSet: JobSet): ReadonlySet<string> {
  const stages = [...group.stages.keys(), ...[...group.lossTallies.values()].map(({ stage }) => stage)];
  return new Set(stages.filter((stage) => failJobSetRule(jobSet, { stage }) !== undefined));
}

/** Counts the failures of the ended epoch, one for each Job: its Pods fail together. */
export function countRuleFailures(group: Group, jobSet: JobSet, status: Status, now: number): Status {
  const epoch = status.syncedEpoch;
  const jobs = new Set(ownCrashes(group, status, now, stagesWithRule(group, jobSet)).map(({ job }) => job));
  if (jobs.size === 0) return status;
  const known = status.ruleFailures ?? [];
  const counted = [...jobs].map((job): RuleFailures => {
    return { job, failures: (known.find((each) => each.job === job)?.failures ?? 0) + 1, epoch };
  });
  const others = known.filter(({ job }) => !jobs.has(job));
  return { ...status, ruleFailures: [...others, ...counted].slice(-RULE_FAILURES_LIMIT) };
}

/** Takes the failures of an epoch back: a disruption turned out to have ended it. */
export function uncountRuleFailures(status: Status, epoch: number): Status {
  const { ruleFailures, ...rest } = status;
  if (ruleFailures?.some((each) => each.epoch === epoch) !== true) return status;
  const left = ruleFailures.flatMap((each) => {
    if (each.epoch !== epoch) return [each];
    return each.failures > 1 ? [{ ...each, failures: each.failures - 1 }] : [];
  });
  return left.length === 0 ? rest : { ...rest, ruleFailures: left };
}

function failJobSetRule(jobSet: JobSet, { stage }: Pick<FailedJob, "stage">): FailureRule | undefined {
  const rule = ruleFor(jobSet, crashed(stage));
  return rule?.action === "FailJobSet" ? rule : undefined;
}
