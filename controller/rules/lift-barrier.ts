// The start of an epoch: the barrier is lifted for every Pod at once. Pure.
import { countRestart } from "../escalation/count-restart.ts";
import { lastStepOf } from "../group/last-step.ts";
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
  const step = lastStepOf(group, status);
  const reached = record === undefined || step === undefined ? record : { ...record, step };
  const recorded =
    reached === undefined
      ? status
      : closeRecord(status, reached, { toEpoch: epoch, allRestarted: reached.allRestarted ?? at, synced: at });
  const next = { syncedEpoch: epoch, heldStages: stagesHeldAtSync(group), restarts: countRestart(status, record) };
  return { status: { ...recorded, ...next }, notices: [] };
}
