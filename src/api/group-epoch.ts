// The GroupEpoch object: the epochs of one group as its agents read them, a copy of what the InPlaceRestart says. Its
// name is the UID of the JobSet, so that no agent ever finds the object of another JobSet.
import { asCount, asList, asMap, asText } from "../json/fields.ts";
import { GROUP } from "./names.ts";

export const GROUP_EPOCH = {
  group: GROUP,
  version: "v1alpha1",
  plural: "groupepochs",
  kind: "GroupEpoch",
} as const;

export interface GroupEpoch {
  /** The resourceVersion of the InPlaceRestart that was copied. Never decreases. */
  readonly version: number;
  readonly deprecatedEpoch: number;
  readonly syncedEpoch: number;
  readonly heldStages: readonly string[];
}

/** Undefined if an epoch is missing, which the API server does not allow. */
export function readGroupEpoch(raw: unknown): GroupEpoch | undefined {
  const spec = asMap(asMap(raw)["spec"]);
  const version = asCount(spec["version"]);
  const deprecatedEpoch = asCount(spec["deprecatedEpoch"]);
  const syncedEpoch = asCount(spec["syncedEpoch"]);
  if (version === undefined || deprecatedEpoch === undefined || syncedEpoch === undefined) return undefined;
  const heldStages = asList(spec["heldStages"]).flatMap((stage) => asText(stage) ?? []);
  return { version, deprecatedEpoch, syncedEpoch, heldStages };
}
