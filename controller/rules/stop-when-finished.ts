// A JobSet that has completed or failed: its group never restarts. Pure.
import { withoutDeletion } from "../status/history.ts";
import type { Context, Step } from "./rule.ts";

/** JobSet deletes the remaining Pods itself, so such a deletion is not a restart. */
export function stopWhenFinished({ jobSet, status }: Context): Step | undefined {
  return jobSet.outcome === "none" ? undefined : { status: withoutDeletion(status), notices: [] };
}
