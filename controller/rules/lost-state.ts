// A group without a state to go by: a new one, or one whose InPlaceRestart was lost. Pure.
import { epochRuns, highestEpoch, highestPlausible, MOST_AT_FIRST } from "../group/epochs.ts";
import type { Group } from "../group/group.ts";
import { amended, describeCause, openRecord, withRecord } from "../status/history.ts";
import { timestamp } from "../status/summary.ts";
import { restartNotice, type Status, type Step } from "./rule.ts";

/** A new object, or one that was lost: nobody may join a group that runs, so what runs restarts once. */
export function initialise(group: Group, now: number): Step {
  const epoch = highestEpoch(group, MOST_AT_FIRST);
  const status: Status = {
    deprecatedEpoch: epoch,
    syncedEpoch: epoch,
    heldStages: [],
    restarts: 0,
    phase: "Starting",
    ready: "",
    history: [],
    conditions: [],
  };
  return epoch === 0 ? { status, notices: [] } : loseState(status, epoch, now);
}

function loseState(status: Status, epoch: number, now: number): Step {
  const at = timestamp(now);
  const cause = { reason: "StateLost" } as const;
  const record = {
    cause,
    action: "RestartInPlace",
    fromEpoch: epoch,
    counted: false,
    failureSeen: at,
    deprecated: at,
  } as const;
  const lost = openRecord(status) === undefined ? withRecord(status, record) : amended(status, { fromEpoch: epoch });
  return {
    status: { ...lost, deprecatedEpoch: epoch, syncedEpoch: epoch },
    notices: [restartNotice("RestartInPlace", describeCause(cause))],
  };
}

/**
 * Between two epochs an agent can be at most one ahead. Where one is further, the object was made from an old view of the
 * Pods. (In a running group such an epoch was not taken by an agent: it is reported and ignored.)
 */
export function believeLostEpochs(group: Group, status: Status, now: number): Step | undefined {
  const highest = highestEpoch(group, highestPlausible(status));
  if (epochRuns(status) || highest <= status.syncedEpoch + 1) return undefined;
  return loseState(status, highest, now);
}
