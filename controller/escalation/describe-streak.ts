// Why an action is stronger than a restart in place, as the end of a note. Pure.
import type { RestartAction, Streak } from "../../src/api/in-place-restart.ts";

export function describeSlotStreak(action: RestartAction, streak: Streak | undefined): string {
  const { slot, failures = 0 } = streak ?? {};
  if (action === "RestartInPlace" || slot === undefined || failures < 2) return "";
  return `; ${failures} failures of ${slot} in a row without progress`;
}

export function describeGroupStreak(action: RestartAction, streak: Streak | undefined): string {
  if (action === "RestartInPlace") return "";
  return `; ${streak?.unexplained ?? 0} restarts without progress for which no Pod can be blamed`;
}
