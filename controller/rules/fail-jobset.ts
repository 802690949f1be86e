// The step that fails the JobSet because of one failure, for every rule that may find one final. Pure.
import type { RestartCause, RestartRecord } from "../../src/api/in-place-restart.ts";
import { timestamp } from "../status/conditions.ts";
import { describeCause, openRecord, withRecord } from "../status/history.ts";
import type { Context, Failure, Step } from "./rule.ts";

/** What this rule recorded before, if the JobSet has not failed yet: failing it is retried. */
export function recordedFailure({ status, rule }: Pick<Context, "status" | "rule">): RestartRecord | undefined {
  const open = openRecord(status);
  return open?.action === "FailJobSet" && open.rule === rule ? open : undefined;
}

/** `at`: when the failure was seen, in milliseconds since 1970. */
export function failJobSet(
  { status, rule }: Pick<Context, "status" | "rule">,
  { cause, at }: { readonly cause: RestartCause; readonly at: number },
  failure: Failure,
): Step {
  const record = { cause, rule, fromEpoch: status.syncedEpoch, counted: false, failureSeen: timestamp(at) };
  return {
    status: withRecord(status, { ...record, action: "FailJobSet" }),
    notices: [{ type: "Warning", reason: failure.reason, action: "Fail", note: failure.message }],
    failure,
  };
}

/** `authority`: what the user wrote, for example "failurePolicy rule leader". */
export function finalFailure(reason: Failure["reason"], cause: RestartCause, authority: string): Failure {
  return { reason, message: `${describeCause(cause)}, which ${authority} makes final` };
}
