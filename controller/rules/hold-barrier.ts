// The back-off of a group in a crash loop: every Pod is back, but the barrier stays down for a while. Pure.
import { backoffEndsAt } from "../escalation/backoff.ts";
import { timestamp } from "../status/conditions.ts";
import { amendRecord, describeHold, openRecord } from "../status/history.ts";
import { isEveryPodBack } from "./barrier.ts";
import type { Context, Step } from "./rule.ts";

export function holdBarrier(context: Context): Step | undefined {
  const { status, now } = context;
  const record = openRecord(status);
  const until = backoffEndsAt(status);
  if (record === undefined || until === undefined || now >= until || !isEveryPodBack(context)) return undefined;
  if (record.allRestarted !== undefined) return { status, notices: [] };
  return {
    status: amendRecord(status, { allRestarted: timestamp(now) }),
    notices: [{ type: "Warning", reason: "BackingOff", action: "Wait", note: describeHold(record) }],
  };
}
