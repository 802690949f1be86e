// A crash that may be a consequence of success: only some replicatedJobs decide the success of the JobSet, and none of
// them has failed. Once the epoch is deprecated, a driver that has just succeeded could be restarted. Pure.
import { successAwaitedUntil } from "../group/success.ts";
import type { Context, Step } from "./rule.ts";

export function holdForSuccess({ group, status, now }: Context): Step | undefined {
  const until = successAwaitedUntil(group, status, now);
  return until === undefined || now >= until ? undefined : { status, notices: [] };
}
