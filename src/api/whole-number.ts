// Whole numbers in the annotations that users and agents write. Pure.
import { MAX_INT32 } from "./names.ts";

/** A whole number as an annotation states it: digits only, at most Kubernetes' int32. */
export function readWholeNumber(text: string): number | undefined {
  if (!/^\d{1,10}$/.test(text)) return undefined;
  const value = Number(text);
  return value <= MAX_INT32 ? value : undefined;
}
