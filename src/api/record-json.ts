// The annotation reprise.dev/status as JSON, for everything that reads the record of an injection. Pure. A user may
// edit it: never trust its shape.
import { isObject } from "../json/edit.ts";
import { asMap, asText } from "../json/fields.ts";
import type { JsonObject } from "../json/types.ts";
import { ANNOTATION } from "./names.ts";

/** Undefined when the record is missing or unreadable. */
export function recordJson(annotations: unknown): JsonObject | undefined {
  const text = asText(asMap(annotations)[ANNOTATION.status]);
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
