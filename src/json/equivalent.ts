// Whether two JSON values mean the same to Kubernetes. Pure.
// JobSet's webhook decodes every new object into Go structs and encodes it again. That adds `resources: {}` and
// `metadata: {}` to the stored object and turns "0.5" CPU into "500m". A client that applies the same file again sends
// none of this. A literal comparison would see a change, and the generation would grow on every apply.

import { quantityValue } from "./quantity.ts";
import { type Json, type JsonObject, MAX_DEPTH } from "./types.ts";

/** Structs that Go always encodes, and maps: empty means not set. Elsewhere `{}` has a meaning (emptyDir). */
const EMPTY_MEANS_ABSENT: ReadonlySet<string> = new Set([
  "metadata",
  "resources",
  "status",
  "labels",
  "annotations",
  "nodeSelector",
  "limits",
  "requests",
]);

const QUANTITIES: ReadonlySet<string> = new Set(["limits", "requests"]);

export function equivalent(a: Json | undefined, b: Json | undefined): boolean {
  return same(a, b, "", 0);
}

function same(a: Json | undefined, b: Json | undefined, key: string, depth: number): boolean {
  if (a === b) return true;
  const isEmpty = isNothing(a, key, depth);
  if (isEmpty || isNothing(b, key, depth)) return isEmpty && isNothing(b, key, depth);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || depth > MAX_DEPTH) return false;
  if (Array.isArray(a)) return Array.isArray(b) && sameItems(a, b, depth);
  return !Array.isArray(b) && sameFields(a, b, key, depth);
}

function sameItems(a: readonly Json[], b: readonly Json[], depth: number): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) {
    if (!same(a[index], b[index], "", depth + 1)) return false;
  }
  return true;
}

function sameFields(a: JsonObject, b: JsonObject, key: string, depth: number): boolean {
  const areQuantities = QUANTITIES.has(key);
  for (const field of Object.keys(a)) {
    // Own fields only: every JavaScript object inherits a "constructor" that is not in the JSON.
    const other = Object.hasOwn(b, field) ? b[field] : undefined;
    if (areQuantities ? !sameQuantity(a[field], other) : !same(a[field], other, field, depth + 1)) return false;
  }
  for (const field of Object.keys(b)) {
    if (!Object.hasOwn(a, field) && !isNothing(b[field], field, depth + 1)) return false;
  }
  return true;
}

function sameQuantity(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  const value = quantityValue(a);
  return value !== undefined && value === quantityValue(b);
}

function isNothing(value: Json | undefined, key: string, depth: number): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value !== "object") return false;
  if (Array.isArray(value)) return value.length === 0;
  if (!EMPTY_MEANS_ABSENT.has(key) || depth > MAX_DEPTH) return false;
  return Object.keys(value).every((field) => isNothing(value[field], field, depth + 1));
}
