// The restart after the group's epochs were lost, for the rules that find them again on the Pods. Pure.
import { timestamp } from "../status/conditions.ts";
import { amendRecord, describeCause, openRecord, withRecord } from "../status/history.ts";
import { type Context, restartNotice, type Step } from "./rule.ts";

/** Ends every epoch up to this one. It is not counted as a restart: no worker failed. */
export function restartFromEpoch({ status, now, rule }: Context, epoch: number): Step {
  const at = timestamp(now);
  const cause = { reason: "StateLost" } as const;
  const record = {
    cause,
    action: "RestartInPlace",
    rule,
    fromEpoch: epoch,
    counted: false,
    failureSeen: at,
    deprecated: at,
  } as const;
  const recorded =
    openRecord(status) === undefined ? withRecord(status, record) : amendRecord(status, { fromEpoch: epoch });
  return {
    status: { ...recorded, deprecatedEpoch: epoch, syncedEpoch: epoch },
    notices: [restartNotice("RestartInPlace", describeCause(cause))],
  };
}
