// An exit code that is not worth a retry: the JobSet fails at once, whatever else runs in the Pod. Where the Pod itself
// fails, its Job's podFailurePolicy comes to the same end, but only when the last Pod of the Job has terminated. Pure.
import type { RestartCause } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import { isProof } from "../group/evidence.ts";
import type { Group } from "../group/group.ts";
import { describeCause, openRecord, withRecord } from "../status/history.ts";
import { timestamp } from "../status/summary.ts";
import type { Failure, Status, Step } from "./rule.ts";

/** As KEP-3329 calls it; JobSet's own reasons are for what its own rules decided. */
const NON_RETRIABLE = "NonRetriableExitCode";

export function failAtOnce(group: Group, jobSet: JobSet, status: Status, now: number): Step | undefined {
  const open = openRecord(status);
  if (open?.action === "FailJobSet") return { status, notices: [], failure: verdictOn(jobSet, open.cause) };
  const loss = [...group.losses.values()].find((each) => each.ask === "fail" && isProof(group, each, status, now));
  if (loss === undefined) return undefined;
  const { cause } = loss;
  const failure = verdictOn(jobSet, cause);
  const record = { cause, fromEpoch: status.syncedEpoch, counted: false, failureSeen: timestamp(loss.at) };
  return {
    status: withRecord(status, { ...record, action: "FailJobSet" }),
    notices: [{ type: "Warning", reason: NON_RETRIABLE, action: "Fail", note: failure.message }],
    failure,
  };
}

function verdictOn({ annotations }: JobSet, cause: RestartCause): Failure {
  const written = [ANNOTATION.failExitCodes, ANNOTATION.failurePolicy].find((key) => annotations[key] !== undefined);
  const authority = written === undefined ? "its podFailurePolicy" : `${written} (${annotations[written]})`;
  return { reason: NON_RETRIABLE, message: `${describeCause(cause)}, which ${authority} makes final` };
}
