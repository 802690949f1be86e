// Failures in a row: how long the streak is, and when a run lasted long enough to end it. The last history record holds
// the whole streak, so it survives a restart of the controller and the removal of older records. Pure.
import type { InPlaceRestartStatus, RestartRecord, Streak } from "../../src/api/in-place-restart.ts";

/** Whose failure a restart was: that of a slot, of no slot in particular, or no failure at all. */
export type Attribution = { readonly slot: string } | "unexplained" | "no-failure";

/**
 * The streak after this restart. If no worker failed, it stays as it was. A failure that cannot be attributed neither
 * lengthens the streak of a slot nor ends it. `step`: the last step of the run that has ended, if it is known.
 */
export function streakWith(
  { history }: Pick<InPlaceRestartStatus, "history">,
  attribution: Attribution,
  at: number,
  progressAfter: number,
  step?: number,
): Streak | undefined {
  const last = history.at(-1);
  const before = last === undefined || hasProgressed(last, at, progressAfter, step) ? undefined : last.streak;
  if (attribution === "no-failure") return before;
  const after = { ...before, restarts: (before?.restarts ?? 0) + 1 };
  if (attribution === "unexplained") return { ...after, unexplained: (before?.unexplained ?? 0) + 1 };
  const { slot } = attribution;
  return { ...after, slot, failures: before?.slot === slot ? (before.failures ?? 0) + 1 : 1 };
}

/** The streak without the restart that the newest record is about. */
export function streakBefore({ history }: Pick<InPlaceRestartStatus, "history">, progressAfter: number) {
  const at = Date.parse(history.at(-1)?.failureSeen ?? "");
  return streakWith({ history: history.slice(0, -1) }, "no-failure", at, progressAfter);
}

/** Whether the newest restart was taken for a failure, even if a rule of the user does not count it. */
export function isInStreak(status: Pick<InPlaceRestartStatus, "history">, progressAfter: number): boolean {
  const restarts = status.history.at(-1)?.streak?.restarts ?? 0;
  return restarts > (streakBefore(status, progressAfter)?.restarts ?? 0);
}

/**
 * Whether the run that this restart led to lasted long enough to count as progress. A run that ended at the step where
 * the one before had ended, or earlier, has made none.
 */
function hasProgressed(record: RestartRecord, at: number, progressAfter: number, step: number | undefined): boolean {
  const began = record.allRunning ?? record.synced;
  if (began === undefined || at - Date.parse(began) < progressAfter) return false;
  return step === undefined || record.step === undefined || step > record.step;
}
