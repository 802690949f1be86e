// An object without a status: a new group, or one whose InPlaceRestart was lost. Pure.
import { highestEpoch, MOST_AT_FIRST } from "../group/epochs.ts";
import { leftOutNotices } from "../status/left-out.ts";
import { restartFromEpoch } from "./lost-epochs.ts";
import type { Context, Step } from "./rule.ts";

/** If Pods already have epochs, the object was lost: no Pod may join a running group, so the group restarts once. */
export function initialize(context: Context): Step | undefined {
  if (context.isInitialized) return undefined;
  const epoch = highestEpoch(context.group, MOST_AT_FIRST);
  if (epoch > 0) return restartFromEpoch(context, epoch);
  return { status: context.status, notices: leftOutNotices(context.jobSet.annotations) };
}
