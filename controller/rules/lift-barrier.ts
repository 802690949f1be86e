// The start of an epoch: the barrier is lifted for every Pod at once. Pure.
import { countRestart } from "../escalation/count-restart.ts";
import { stagesHeldAtSync } from "../group/startup-order.ts";
import { timestamp } from "../status/conditions.ts";
import { closeRecord, openRecord } from "../status/history.ts";
import { isEveryPodBack } from "./barrier.ts";
import type { Context, Step } from "./rule.ts";

export function liftBarrier(context: Context): Step | undefined {
  if (!isEveryPodBack(context)) return undefined;
  const { group, status, now } = context;
  const epoch = status.syncedEpoch + 1;
  const record = openRecord(status);
  const at = timestamp(now);
  const recorded =
    record === undefined
      ? status
      : closeRecord(status, record, { toEpoch: epoch, allRestarted: record.allRestarted ?? at, synced: at });
  const next = { syncedEpoch: epoch, heldStages: stagesHeldAtSync(group), restarts: countRestart(status, record) };
  return { status: { ...recorded, ...next }, notices: [] };
}
