// A JobSet whose success policy is met, while its controller has not completed it yet. Pure.
import { hasSucceeded } from "../group/success.ts";
import type { Context, Step } from "./rule.ts";

/** Peers that exit now do so because their driver has left. JobSet deletes them when it completes the JobSet. */
export function restOnSuccess({ group, status }: Context): Step | undefined {
  return hasSucceeded(group, status) ? { status, notices: [] } : undefined;
}
