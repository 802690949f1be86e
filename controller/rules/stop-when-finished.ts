// A JobSet that has completed or failed: its group never restarts. Pure.
import { withoutDeletion, withoutOpenRecord } from "../status/history.ts";
import type { Context, Step } from "./rule.ts";

/**
 * JobSet deletes the remaining Pods itself, so such a deletion is not a restart. Nor is a restart that was still open
 * when the JobSet completed: what failed was not needed for success.
 */
export function stopWhenFinished({ jobSet, status }: Context): Step | undefined {
  if (jobSet.outcome === "none") return undefined;
  const settled = jobSet.outcome === "Completed" ? withoutOpenRecord(status) : withoutDeletion(status);
  return { status: settled, notices: [] };
}
