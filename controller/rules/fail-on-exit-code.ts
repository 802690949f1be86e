// A non-retriable exit code: the JobSet fails at once, even if other containers of the Pod still run. If the Pod itself
// fails, its Job's podFailurePolicy leads to the same result, but only after the last Pod of the Job has ended. Pure.
import type { RestartCause } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import { isProof } from "../group/evidence.ts";
import { timestamp } from "../status/conditions.ts";
import { describeCause, openRecord, withRecord } from "../status/history.ts";
import type { Context, Failure, Step } from "./rule.ts";

/** The name in KEP-3329. JobSet's own reasons are reserved for the rules of its failure policy. */
const NON_RETRIABLE = "NonRetriableExitCode";

export function failOnExitCode({ group, jobSet, status, now, rule }: Context): Step | undefined {
  const open = openRecord(status);
  // Recorded before, but the JobSet has not failed yet: retry.
  if (open?.action === "FailJobSet") return { status, notices: [], failure: failureFor(jobSet, open.cause) };
  const loss = [...group.losses.values()].find(
    (each) => each.requestedAction === "fail" && isProof(group, each, status, now),
  );
  if (loss === undefined) return undefined;
  const { cause } = loss;
  const failure = failureFor(jobSet, cause);
  const record = { cause, rule, fromEpoch: status.syncedEpoch, counted: false, failureSeen: timestamp(loss.at) };
  return {
    status: withRecord(status, { ...record, action: "FailJobSet" }),
    notices: [{ type: "Warning", reason: NON_RETRIABLE, action: "Fail", note: failure.message }],
    failure,
  };
}

function failureFor({ annotations }: JobSet, cause: RestartCause): Failure {
  const written = [ANNOTATION.failExitCodes, ANNOTATION.failurePolicy].find((key) => annotations[key] !== undefined);
  const authority = written === undefined ? "its podFailurePolicy" : `${written} (${annotations[written]})`;
  return { reason: NON_RETRIABLE, message: `${describeCause(cause)}, which ${authority} makes final` };
}
