// An object without a status: a new group, or one whose InPlaceRestart was lost. Pure.
import { requestedRestart } from "../../src/api/restart-request.ts";
import { highestEpoch, MOST_AT_FIRST } from "../group/epochs.ts";
import { leftOutNotices } from "../status/left-out.ts";
import { withHandledRequest } from "../status/requests.ts";
import { restartFromEpoch } from "./lost-epochs.ts";
import type { Context, Step } from "./rule.ts";

/**
 * If Pods already have epochs, the object was lost: no Pod may join a running group, so the group restarts once. A
 * request for a restart that the JobSet has by now was written before its workers start.
 */
export function initialize(created: Context): Step | undefined {
  if (created.isInitialized) return undefined;
  const request = requestedRestart(created.jobSet.annotations);
  const status = request === undefined ? created.status : withHandledRequest(created.status, request);
  const context = { ...created, status };
  const epoch = highestEpoch(context.group, MOST_AT_FIRST);
  if (epoch > 0) return restartFromEpoch(context, epoch);
  return { status: context.status, notices: leftOutNotices(context.jobSet.annotations) };
}
