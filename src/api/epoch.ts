// The epoch that an agent writes on its own Pod, as text in an annotation. Pure.
import { MAX_INT32 } from "./names.ts";

export type EpochReading =
  | { readonly kind: "absent" }
  | { readonly kind: "present"; readonly epoch: number }
  /** Reported on the Pod and otherwise treated as absent: one bad Pod must not stop its group. */
  | { readonly kind: "malformed"; readonly text: string };

/** Exactly the form that an agent writes: no sign, no leading zero, no space. Anything else was not written by one. */
const EPOCH = /^(?:0|[1-9]\d{0,9})$/;

export function readEpoch(annotation: unknown): EpochReading {
  if (annotation === undefined || annotation === null) return { kind: "absent" };
  if (typeof annotation !== "string") return { kind: "malformed", text: String(annotation) };
  const epoch = Number(annotation);
  return EPOCH.test(annotation) && epoch <= MAX_INT32
    ? { kind: "present", epoch }
    : { kind: "malformed", text: annotation };
}
