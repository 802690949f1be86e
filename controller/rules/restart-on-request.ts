// A restart by hand: an annotation of the JobSet asks for one, for example because the workers hang. Pure.
import type { RestartCause } from "../../src/api/in-place-restart.ts";
import { streakWith } from "../escalation/streak.ts";
import { epochRuns } from "../group/epochs.ts";
import { isWorkBeingSaved } from "../group/grace.ts";
import { timestamp } from "../status/conditions.ts";
import { describeCause, withRecord } from "../status/history.ts";
import { unhandledRequest, withHandledRequest } from "../status/requests.ts";
import { type Context, restartNotice, type Step } from "./rule.ts";

/**
 * Each value restarts the group once. The write that ends the epoch also records the value as handled, so no controller
 * can carry it out twice.
 */
export function restartOnRequest({ group, jobSet, status, now, policy, rule }: Context): Step | undefined {
  const request = unhandledRequest(jobSet, status);
  if (request === undefined) return undefined;
  const handled = withHandledRequest(status, request);
  const cause: RestartCause = { reason: "Requested", request };
  if (!epochRuns(status)) {
    const note = `${describeCause(cause)}; no epoch runs, so every worker starts again anyway`;
    return { status: handled, notices: [{ type: "Normal", reason: "RestartRequested", action: "Restart", note }] };
  }
  // A Pod that is going away ends the epoch anyway, when it has saved its work.
  if (isWorkBeingSaved(group, status, now)) return undefined;
  const streak = streakWith(status, "no-failure", now, policy.progressAfter);
  const at = timestamp(now);
  const recorded = withRecord(handled, {
    cause,
    action: "RestartInPlace",
    rule,
    ...(streak === undefined ? {} : { streak }),
    fromEpoch: status.syncedEpoch,
    counted: false,
    failureSeen: at,
    deprecated: at,
  });
  return {
    status: { ...recorded, deprecatedEpoch: status.syncedEpoch },
    notices: [restartNotice("RestartInPlace", `${describeCause(cause)}; not counted as a restart`)],
  };
}
