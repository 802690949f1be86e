// The patch as it goes on the wire: one large operation where many small ones would cost the API server more. Pure.
//
// The API server's patch library takes each level that an operation reaches into apart and puts it together again, and
// injection reaches eight levels deep into every replicatedJob. Measured with that library: 1.5 ms for a 6 KB JobSet and 87 ms
// for 230 KB, against 0.4 ms and 25 ms for the list replaced as a whole. That is more than the rest of our answer takes.

import { asMap } from "../json/fields.ts";
import { createPatch, type PatchOperation } from "../json/patch.ts";
import type { Json, JsonObject } from "../json/types.ts";

const LIST = "/spec/replicatedJobs";

/** Deeper than any Kubernetes object. Small operations never touch what a user nested deeper, and it is not ours to read. */
const MAX_DEPTH = 200;

/** Applied to `before` it gives `after`; empty when nothing changed. */
export function createWirePatch(before: JsonObject, after: JsonObject): readonly PatchOperation[] {
  const operations = createPatch(before, after);
  const list = asMap(after["spec"])["replicatedJobs"];
  const outside = operations.filter(({ path }) => !path.startsWith(`${LIST}/`));
  // Few operations leave most of the list alone, and then so does the library.
  const isWorthIt = isList(list) && operations.length - outside.length > list.length;
  return isWorthIt && isExact(list, 0) ? [...outside, { op: "replace", path: LIST, value: list }] : operations;
}

function isList(value: unknown): value is Json[] {
  return Array.isArray(value);
}

/**
 * Whether the value is written again exactly as it was read. A replaced list holds what the user wrote, too, and whole
 * numbers beyond 2^53 (runAsUser may have 63 bits) have already been rounded by reading them.
 */
function isExact(value: Json, depth: number): boolean {
  if (typeof value === "number") return !Number.isInteger(value) || Number.isSafeInteger(value);
  if (typeof value !== "object" || value === null) return true;
  if (depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => isExact(item, depth + 1));
  for (const key in value) {
    const field = value[key];
    if (field !== undefined && !isExact(field, depth + 1)) return false;
  }
  return true;
}
