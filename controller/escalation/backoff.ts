// A group that crashes in a loop is slowed down: its barrier is held, longer each time. No Pod is killed for it. Pure.
import type { RestartRecord, Streak } from "../../src/api/in-place-restart.ts";
import type { RestartPolicy } from "../../src/api/restart-policy.ts";
import type { Status, Step } from "../rules/rule.ts";
import { amended, describeHold, openRecord } from "../status/history.ts";
import { timestamp } from "../status/summary.ts";

/** How long after the failure the barrier stays down, at least. */
export function backoffOf(streak: Streak | undefined, { backoff }: RestartPolicy): number {
  const delayed = (streak?.restarts ?? 0) - backoff.after;
  return delayed <= 0 ? 0 : Math.min(backoff.first * 2 ** (delayed - 1), backoff.max);
}

/** Everybody is back, and only the time has not come. */
export function holdBarrier(status: Status, record: RestartRecord | undefined, now: number): Step | undefined {
  const until = backoffUntil(record);
  if (record === undefined || until === undefined || now >= until) return undefined;
  if (record.allRestarted !== undefined) return { status, notices: [] };
  return {
    status: amended(status, { allRestarted: timestamp(now) }),
    notices: [{ type: "Warning", reason: "BackingOff", action: "Wait", note: describeHold(record) }],
  };
}

/** When the barrier may be lifted again, in milliseconds since 1970. */
export function holdEndsAt(status: Status): number | undefined {
  return backoffUntil(openRecord(status));
}

function backoffUntil(record: RestartRecord | undefined): number | undefined {
  return record?.backoffUntil === undefined ? undefined : Date.parse(record.backoffUntil);
}
