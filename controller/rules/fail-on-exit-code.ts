// A non-retriable exit code: the JobSet fails at once, even if other containers of the Pod still run. If the Pod itself
// fails, its Job's podFailurePolicy leads to the same result, but only after the last Pod of the Job has ended. A
// JobSet that recreates its Jobs in that case is left to recreate-on-exit-code. Pure.
import type { RestartCause, RestartRecord } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import { failedByPolicy, recreationAfter, ruleFor } from "../escalation/failure-rules.ts";
import { requestedProofs } from "../group/evidence.ts";
import type { Loss } from "../group/group.ts";
import { openRecord } from "../status/history.ts";
import { failJobSet, finalFailure, recordedFailure } from "./fail-jobset.ts";
import type { Context, Failure, Step } from "./rule.ts";

/** The name in KEP-3329. JobSet's own reasons are reserved for the rules of its failure policy. */
const NON_RETRIABLE = "NonRetriableExitCode";

export function failOnExitCode(context: Context): Step | undefined {
  const { group, jobSet, status, now } = context;
  const recorded = recordedFailure(context);
  if (recorded !== undefined) return { status, notices: [], failure: failureFor(jobSet, recorded.cause) };
  const open = openRecord(status);
  const [, loss] = requestedProofs(group, status, now, "fail").find(([, each]) => isFinal(jobSet, each, open)) ?? [];
  return loss === undefined ? undefined : failJobSet(context, loss, failureFor(jobSet, loss.cause));
}

/** Once a recreation is under way it may have been the last one, so that only a rule can still say otherwise. */
function isFinal(jobSet: JobSet, loss: Loss, open: RestartRecord | undefined): boolean {
  const failed = failedByPolicy(jobSet, loss);
  if (open?.action === "RecreateJobSet") return ruleFor(jobSet, failed)?.action === "FailJobSet";
  return recreationAfter(jobSet, failed) === "none";
}

function failureFor({ annotations }: JobSet, cause: RestartCause): Failure {
  const written = [ANNOTATION.failExitCodes, ANNOTATION.failurePolicy].find((key) => annotations[key] !== undefined);
  const authority = written === undefined ? "its podFailurePolicy" : `${written} (${annotations[written]})`;
  return finalFailure(NON_RETRIABLE, cause, authority);
}
