// An exit code for which the Job's podFailurePolicy says FailJob, in a JobSet that is recreated when a Job fails:
// JobSet applies its own failure policy, on its own count. If that would fail the JobSet, fail-on-exit-code has done
// it. Pure.
import { requestedProofs } from "../group/evidence.ts";
import type { Group } from "../group/group.ts";
import { timestamp } from "../status/conditions.ts";
import { changeAction, describeCause, openRecord, withRecord } from "../status/history.ts";
import { type Context, restartNotice, type Status, type Step } from "./rule.ts";

export function recreateOnExitCode({ group, status, now, rule }: Context): Step | undefined {
  const open = openRecord(status);
  if (isUnderWay(group, status)) return undefined;
  const [[, loss] = []] = requestedProofs(group, status, now, "fail");
  if (loss === undefined) return undefined;
  const { cause, job, at } = loss;
  // JobSet counts its own recreations.
  const change = { cause, action: "RecreateJobSet", rule, target: job, counted: false } as const;
  const opened = { ...change, fromEpoch: status.syncedEpoch, failureSeen: timestamp(at), deprecated: timestamp(now) };
  const recorded = open === undefined ? withRecord(status, opened) : changeAction(status, change);
  const note = `${describeCause(cause)}, which fails its Job by podFailurePolicy`;
  return {
    status: { ...recorded, deprecatedEpoch: status.syncedEpoch },
    notices: [restartNotice("RecreateJobSet", note)],
  };
}

/** One failed Job makes JobSet recreate them all. */
function isUnderWay({ jobs }: Group, status: Status): boolean {
  const { action, target = "" } = openRecord(status) ?? {};
  return action === "RecreateJobSet" && jobs.get(target)?.job.outcome !== "Complete";
}
