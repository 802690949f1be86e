// A failure for which a rule of the JobSet's failurePolicy says FailJobSet, once the Job has no retries left. Without
// reprise the Job would fail, and JobSet would apply the rule. Pure.
import type { RestartCause } from "../../src/api/in-place-restart.ts";
import { finalRuleFor, stagesWithFinalRule } from "../escalation/rule-failures.ts";
import { ownCrashes } from "../group/own-crash.ts";
import { timestamp } from "../status/conditions.ts";
import { describeCause, openRecord, withRecord } from "../status/history.ts";
import type { Context, Failure, Step } from "./rule.ts";

/** The reason that JobSet's own controller gives. */
const FAIL_JOB_SET = "FailJobSetFailurePolicyAction";

/** Also looks at failures that are seen while the group restarts because of another one. */
export function failOnFailureRule({ group, jobSet, status, now, rule }: Context): Step | undefined {
  const open = openRecord(status);
  // Recorded before, but the JobSet has not failed yet: retry.
  if (open?.action === "FailJobSet" && open.rule === rule)
    return { status, notices: [], failure: failureFor(open.cause, undefined) };
  if (jobSet.failurePolicy?.rules === undefined) return undefined;
  for (const crash of ownCrashes(group, status, now, stagesWithFinalRule(group, jobSet, status))) {
    const final = finalRuleFor(jobSet, status, crash);
    if (final === undefined) continue;
    const { cause, at } = crash;
    const failure = failureFor(cause, final.name);
    const record = { cause, rule, fromEpoch: status.syncedEpoch, counted: false, failureSeen: timestamp(at) };
    return {
      status: withRecord(status, { ...record, action: "FailJobSet" }),
      notices: [{ type: "Warning", reason: FAIL_JOB_SET, action: "Fail", note: failure.message }],
      failure,
    };
  }
  return undefined;
}

function failureFor(cause: RestartCause, name: string | undefined): Failure {
  const authority = name === undefined ? "a rule of failurePolicy" : `failurePolicy rule ${name}`;
  return { reason: FAIL_JOB_SET, message: `${describeCause(cause)}, which ${authority} makes final` };
}
