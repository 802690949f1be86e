// A failure for which a rule of the JobSet's failurePolicy says FailJobSet, once the Job has no retries left. Without
// reprise the Job would fail, and JobSet would apply the rule. Pure.
import type { RestartCause } from "../../src/api/in-place-restart.ts";
import { finalRuleFor, stagesWithFinalRule } from "../escalation/rule-failures.ts";
import { ownCrashes } from "../group/own-crash.ts";
import { failJobSet, finalFailure, recordedFailure } from "./fail-jobset.ts";
import type { Context, Failure, Step } from "./rule.ts";

/** The reason that JobSet's own controller gives. */
const FAIL_JOB_SET = "FailJobSetFailurePolicyAction";

/** Also looks at failures that are seen while the group restarts because of another one. */
export function failOnFailureRule(context: Context): Step | undefined {
  const { group, jobSet, status, now } = context;
  const recorded = recordedFailure(context);
  if (recorded !== undefined) return { status, notices: [], failure: failureFor(recorded.cause, undefined) };
  if (jobSet.failurePolicy?.rules === undefined) return undefined;
  for (const crash of ownCrashes(group, status, now, stagesWithFinalRule(group, jobSet, status))) {
    const final = finalRuleFor(jobSet, status, crash);
    if (final !== undefined) return failJobSet(context, crash, failureFor(crash.cause, final.name));
  }
  return undefined;
}

function failureFor(cause: RestartCause, name: string | undefined): Failure {
  const authority = name === undefined ? "a rule of failurePolicy" : `failurePolicy rule ${name}`;
  return finalFailure(FAIL_JOB_SET, cause, authority);
}
