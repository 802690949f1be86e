// The end of a restart: every worker runs in the new epoch. Pure.
import { timestamp } from "../status/conditions.ts";
import { amendRecord, describeCause, describeLastWords } from "../status/history.ts";
import { allRunning } from "../status/summary.ts";
import type { Context, Step } from "./rule.ts";

export function finishRestart({ group, status, now }: Context): Step | undefined {
  const last = status.history.at(-1);
  if (last?.toEpoch !== status.syncedEpoch || last.allRunning !== undefined || !allRunning(group, status))
    return undefined;
  const seconds = (now - Date.parse(last.failureSeen ?? timestamp(now))) / 1_000;
  const seen = last.cause.reason === "Requested" ? "the request" : "the failure";
  const took = `${seconds.toFixed(1)} s after ${seen} was seen (${describeCause(last.cause)})`;
  const note = `every worker runs again in epoch ${status.syncedEpoch}, ${took}${describeLastWords(last.cause)}`;
  return {
    status: amendRecord(status, { allRunning: timestamp(now) }),
    notices: [{ type: "Normal", reason: "RestartedInPlace", action: "Restart", note }],
  };
}
