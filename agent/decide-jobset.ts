// Reads upstream's own protocol, kept by JobSet's controller in the JobSet's status, in the terms of decide.ts. Pure.
// An attempt is an epoch: `previous` is the deprecated one, `current` the synced one, and there is no startup order.
import { protocolOf } from "../src/api/protocol.ts";
import { asCount, asMap, asText } from "../src/json/fields.ts";
import type { Identity, Sighting } from "./decide.ts";

/** Presence alone counts. Upstream's agents honour it, its controller does not look. */
const DISABLED_ANNOTATION = "jobset.sigs.k8s.io/disable-in-place-restart";

/** Before the first attempt, which is 0: no attempt is deprecated, none is synced. */
const NO_ATTEMPT = -1;

/** The raw JobSet, or undefined where there is none. */
export function seeJobSet(raw: unknown, { jobSetUid }: Identity, consistent: boolean): Sighting {
  if (raw === undefined) return { kind: "absent" };
  const jobSet = asMap(raw);
  const metadata = asMap(jobSet["metadata"]);
  if (asText(metadata["uid"]) !== jobSetUid) return { kind: "foreign" };
  if (protocolOf(jobSet["spec"]) !== "jobset" || DISABLED_ANNOTATION in asMap(metadata["annotations"]))
    return { kind: "released" };
  const status = asMap(jobSet["status"]);
  const deprecatedEpoch = readAttempt(status["previousInPlaceRestartAttempt"]);
  const syncedEpoch = readAttempt(status["currentInPlaceRestartAttempt"]);
  // Upstream has no moment "not initialised yet"; a value that is no attempt was not written by its controller.
  if (deprecatedEpoch === undefined || syncedEpoch === undefined) return { kind: "uninitialised" };
  return { kind: "group", deprecatedEpoch, syncedEpoch, heldStages: [], consistent };
}

function readAttempt(value: unknown): number | undefined {
  return value === undefined || value === null ? NO_ATTEMPT : asCount(value);
}
