// Values as messages quote them: an annotation may hold 256 KiB, a field a whole tree. Pure.
import type { Json } from "./types.ts";

/** Enough to recognize a value in one line of a terminal. */
const MAX_CHARS = 60;

/** Text in quotes, cut to the length of a message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text);
}

/** Any value in a few words. */
export function brief(value: Json | undefined): string {
  if (value === undefined || value === null) return "not set";
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "a map" : String(value);
}
