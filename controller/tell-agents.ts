// Which epochs agents have to be told next. Pure: the controller and the simulator share it. The InPlaceRestart decides
// everything, and the GroupEpoch only repeats it for agents. So it may lag, but must never show a state that the
// InPlaceRestart did not have, and never an older one than before.
import type { GroupEpoch } from "../src/api/group-epoch.ts";
import type { InPlaceRestart } from "../src/api/in-place-restart.ts";
import type { JobSet } from "../src/api/jobset.ts";

/** What this replica last told the agents of a group. */
export interface Told {
  /** UID of the InPlaceRestart. */
  readonly owner: string;
  readonly epochs: GroupEpoch;
  /** When these epochs were told first, and when the API server last confirmed them. In milliseconds since 1970. */
  readonly since: number;
  readonly confirmedAt: number;
}

/**
 * How long the GroupEpoch is assumed to exist. A user may delete it. While Pods wait at the barrier, that would keep
 * them there, so it is confirmed sooner, and less and less often if they wait for long, as in a suspended JobSet.
 */
const TRUST_MS = 5 * 60_000;
const SHORTEST_TRUST_MS = 10_000;

/** What agents of this JobSet are to read. Undefined before the controller has written epochs. */
export function epochsFor(jobSet: JobSet, object: InPlaceRestart | undefined): GroupEpoch | undefined {
  if (object?.status === undefined || object.jobSetUID !== jobSet.uid) return undefined;
  const { deprecatedEpoch, syncedEpoch, heldStages } = object.status;
  return { version: Number(object.resourceVersion), deprecatedEpoch, syncedEpoch, heldStages };
}

export type Telling =
  /** Write these epochs. Written again, they change nothing. */
  | { readonly kind: "tell"; readonly epochs: GroupEpoch }
  /** Nothing to do for this time. */
  | { readonly kind: "rest"; readonly ms: number };

export function nextTelling(owner: string, epochs: GroupEpoch, told: Told | undefined, now: number): Telling {
  if (told === undefined) return { kind: "tell", epochs };
  // The watch does not show the last write yet.
  const isOlder = epochs.version < told.epochs.version;
  if (!isOlder && (told.owner !== owner || !sameEpochs(epochs, told.epochs))) return { kind: "tell", epochs };
  const ms = told.confirmedAt + trustMs(told) - now;
  // The version as it was told, although newer ones repeat it: agents need not hear of those.
  return ms > 0 ? { kind: "rest", ms } : { kind: "tell", epochs: told.epochs };
}

/** After the API server accepted the epochs. */
export function afterTelling(owner: string, epochs: GroupEpoch, told: Told | undefined, now: number): Told {
  const isNew = told === undefined || told.owner !== owner || !sameEpochs(epochs, told.epochs);
  return { owner, epochs, since: isNew ? now : told.since, confirmedAt: now };
}

function trustMs({ epochs, since, confirmedAt }: Told): number {
  const { deprecatedEpoch, syncedEpoch, heldStages } = epochs;
  const podsWait = deprecatedEpoch === syncedEpoch || heldStages.length > 0;
  return podsWait ? Math.min(TRUST_MS, Math.max(SHORTEST_TRUST_MS, confirmedAt - since)) : TRUST_MS;
}

function sameEpochs(a: GroupEpoch, b: GroupEpoch): boolean {
  return (
    a.deprecatedEpoch === b.deprecatedEpoch &&
    a.syncedEpoch === b.syncedEpoch &&
    a.heldStages.length === b.heldStages.length &&
    a.heldStages.every((stage, index) => stage === b.heldStages[index])
  );
}
