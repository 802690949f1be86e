// A crash that others may have caused, among them one that a rule of failurePolicy makes final. Pure.
import { finalFailureAwaitedUntil } from "../escalation/awaited-failure.ts";
import type { Context, Step } from "./rule.ts";

export function holdForFinalFailure({ group, status, now }: Context): Step | undefined {
  const until = finalFailureAwaitedUntil(group, status, now);
  return until === undefined || now >= until ? undefined : { status, notices: [] };
}
