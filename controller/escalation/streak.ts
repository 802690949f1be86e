// Failures in a row: how long the streak is, and when a run lasted long enough to end it. The last history record holds
// the whole streak, so it survives a restart of the controller and the removal of older records. Pure.
import type { InPlaceRestartStatus, RestartRecord, Streak } from "../../src/api/in-place-restart.ts";

/** Whose failure a restart was: that of a slot, of no slot in particular, or no failure at all. */
export type Attribution = { readonly slot: string } | "unexplained" | "no-failure";

/**
 * The streak after this restart. If no worker failed, it stays as it was. A failure that cannot be attributed neither
 * lengthens the streak of a slot nor ends it.
 */
export function streakWith(
  { history }: Pick<InPlaceRestartStatus, "history">,
  attribution: Attribution,
  at: number,
  progressAfter: number,
): Streak | undefined {
  const last = history.at(-1);
  const before = last === undefined || hasProgressed(last, at, progressAfter) ? undefined : last.streak;
  if (attribution === "no-failure") return before;
  const after = { ...before, restarts: (before?.restarts ?? 0) + 1 };
  if (attribution === "unexplained") return { ...after, unexplained: (before?.unexplained ?? 0) + 1 };
  const { slot } = attribution;
  return { ...after, slot, failures: before?.slot === slot ? (before.failures ?? 0) + 1 : 1 };
}

/** Whether the run that this restart led to lasted long enough to count as progress. */
function hasProgressed({ allRunning, synced }: RestartRecord, at: number, progressAfter: number): boolean {
  const began = allRunning ?? synced;
  return began !== undefined && at - Date.parse(began) >= progressAfter;
}
