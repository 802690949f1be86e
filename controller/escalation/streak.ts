// Failures in a row: how long the streak is, and when a run was long enough to end it. All of it is in the last record of
// the history, so that it survives the controller and outlives older records. Pure.
import type { InPlaceRestartStatus, RestartRecord, Streak } from "../../src/api/in-place-restart.ts";

/** The streak that a failure of this slot makes; without a slot nobody failed, and it stays as it was. */
export function streakWith(
  { history }: InPlaceRestartStatus,
  slot: string | undefined,
  at: number,
  progressAfter: number,
): Streak | undefined {
  const last = history.at(-1);
  const before = last === undefined || hasProgressed(last, at, progressAfter) ? undefined : last.streak;
  if (slot === undefined) return before;
  const failures = before?.slot === slot ? before.failures + 1 : 1;
  return { restarts: (before?.restarts ?? 0) + 1, slot, failures };
}

/** Whether the run that this restart led to lasted long enough. */
function hasProgressed({ allRunning, synced }: RestartRecord, at: number, progressAfter: number): boolean {
  const began = allRunning ?? synced;
  return began !== undefined && at - Date.parse(began) >= progressAfter;
}
