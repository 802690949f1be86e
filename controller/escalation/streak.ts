// Failures in a row: how long the streak is, and when a run lasted long enough to end it. The last history record holds
// the whole streak, so it survives a restart of the controller and the removal of older records. Pure.
import type { InPlaceRestartStatus, RestartRecord, Streak } from "../../src/api/in-place-restart.ts";

/** The streak after a failure of this slot. Without a slot no worker failed, and the streak stays as it was. */
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

/** Whether the run that this restart led to lasted long enough to count as progress. */
function hasProgressed({ allRunning, synced }: RestartRecord, at: number, progressAfter: number): boolean {
  const began = allRunning ?? synced;
  return began !== undefined && at - Date.parse(began) >= progressAfter;
}
