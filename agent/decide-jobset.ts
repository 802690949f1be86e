// Maps upstream's protocol, which JobSet's controller keeps in the JobSet's status, to the terms of decide.ts. Pure. An
// attempt is an epoch: `previous` is the deprecated one, `current` the synced one. There is no startup order.
import { protocolOf } from "../src/api/protocol.ts";
import { asCount, asMap, asText } from "../src/json/fields.ts";
import type { GroupView, Identity } from "./decide.ts";

/**
 * Its presence disables in-place restarts, whatever its value. Upstream's agents honor it, its controller does not.
 */
const DISABLED_ANNOTATION = "jobset.sigs.k8s.io/disable-in-place-restart";

/** The state before the first attempt, which is 0: none is deprecated, none is synced. */
const NO_ATTEMPT = -1;

/** `raw` is the JobSet, or undefined if there is none. */
export function viewJobSet(raw: unknown, { jobSetUid }: Identity): GroupView {
  if (raw === undefined) return { kind: "absent" };
  const jobSet = asMap(raw);
  const metadata = asMap(jobSet["metadata"]);
  if (asText(metadata["uid"]) !== jobSetUid) return { kind: "foreign" };
  if (protocolOf(jobSet["spec"]) !== "jobset" || DISABLED_ANNOTATION in asMap(metadata["annotations"]))
    return { kind: "released" };
  const status = asMap(jobSet["status"]);
  const deprecatedEpoch = readAttempt(status["previousInPlaceRestartAttempt"]);
  const syncedEpoch = readAttempt(status["currentInPlaceRestartAttempt"]);
  // Upstream's controller initializes nothing, so an invalid attempt was not written by it.
  if (deprecatedEpoch === undefined || syncedEpoch === undefined) return { kind: "uninitialized" };
  return { kind: "group", deprecatedEpoch, syncedEpoch, heldStages: [] };
}

function readAttempt(value: unknown): number | undefined {
  return value === undefined || value === null ? NO_ATTEMPT : asCount(value);
}
