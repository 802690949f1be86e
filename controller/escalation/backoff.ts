// Back-off for a group in a crash loop: the barrier is held, longer each time. No Pod is deleted for it. Pure.
import type { InPlaceRestartStatus, Streak } from "../../src/api/in-place-restart.ts";
import type { RestartPolicy } from "../../src/api/restart-policy.ts";
import { openRecord } from "../status/history.ts";

/** How long the barrier is held after the failure, in milliseconds. Doubles with every restart, up to the maximum. */
export function backoffOf(streak: Streak | undefined, { backoff }: RestartPolicy): number {
  const delayed = (streak?.restarts ?? 0) - backoff.after;
  return delayed <= 0 ? 0 : Math.min(backoff.first * 2 ** (delayed - 1), backoff.max);
}

/** When the barrier may be lifted, in milliseconds since 1970. Undefined without a back-off. */
export function backoffEndsAt(status: InPlaceRestartStatus): number | undefined {
  const until = openRecord(status)?.backoffUntil;
  return until === undefined ? undefined : Date.parse(until);
}
