// The epoch that an agent publishes in an annotation of its Pod. Pure.
import { readWholeNumber } from "./whole-number.ts";

export type EpochReading =
  | { readonly kind: "absent" }
  | { readonly kind: "present"; readonly epoch: number }
  /** Reported on the Pod and otherwise treated as absent: one bad Pod must not block its group. */
  | { readonly kind: "malformed"; readonly text: string };

/** Exactly what an agent writes. A leading zero shows that something else wrote the annotation. */
const LEADING_ZERO = /^0\d/;

export function readEpoch(annotation: unknown): EpochReading {
  if (annotation === undefined || annotation === null) return { kind: "absent" };
  if (typeof annotation !== "string") return { kind: "malformed", text: String(annotation) };
  const epoch = LEADING_ZERO.test(annotation) ? undefined : readWholeNumber(annotation);
  return epoch === undefined ? { kind: "malformed", text: annotation } : { kind: "present", epoch };
}
