// The JSON patch (RFC 6902) that turns one object into another. Pure. Written by hand for the webhook, for two reasons:
// - Speed. Injection shares every part that it does not touch, so most comparisons compare two references.
//   fast-json-patch compares every value: 59 µs instead of 5 µs for a 6 KB JobSet, 650 µs instead of 37 µs for 230 KB
//   (bench/patch.ts).
// - Lists. fast-json-patch compares lists by index, so the agent in front of other initContainers rewrites all of them:
//   integers beyond 2^53, rounded when they were read, would be written back.
import { isObject } from "./edit.ts";
import { type Json, type JsonObject, MAX_DEPTH } from "./types.ts";

export type PatchOperation =
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: Json }
  | { readonly op: "remove"; readonly path: string };

/** Empty when nothing changed. */
export function createPatch(before: JsonObject, after: JsonObject): PatchOperation[] {
  const operations: PatchOperation[] = [];
  compare(before, after, "", 0, operations);
  return operations;
}

function compare(before: Json, after: Json, path: string, depth: number, into: PatchOperation[]): void {
  if (before === after) return;
  const areMaps = isObject(before) && isObject(after);
  if (areMaps && depth < MAX_DEPTH) compareMaps(before, after, path, depth, into);
  else if (Array.isArray(before) && Array.isArray(after) && depth < MAX_DEPTH) {
    compareLists(before, after, path, depth, into);
  } else into.push({ op: "replace", path, value: after });
}

function compareMaps(before: JsonObject, after: JsonObject, path: string, depth: number, into: PatchOperation[]): void {
  for (const key of Object.keys(before)) {
    const place = `${path}/${pointerToken(key)}`;
    const [old, now] = [before[key], Object.hasOwn(after, key) ? after[key] : undefined];
    if (now === undefined) into.push({ op: "remove", path: place });
    else if (old !== undefined && old !== now) compare(old, now, place, depth + 1, into);
  }
  for (const key of Object.keys(after)) {
    const value = after[key];
    if (!Object.hasOwn(before, key) && value !== undefined)
      into.push({ op: "add", path: `${path}/${pointerToken(key)}`, value });
  }
}

/**
 * Skips the items that both lists share at the start and at the end, compares the rest in pairs, and adds or removes
 * what remains. An agent in front of ten initContainers is then one operation instead of eleven.
 */
function compareLists(
  before: readonly Json[],
  after: readonly Json[],
  path: string,
  depth: number,
  into: PatchOperation[],
): void {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const [oldEnd, newEnd] = [before.length - tail, after.length - tail];
  const paired = Math.min(oldEnd, newEnd);
  for (let index = head; index < paired; index++) {
    const [old, now] = [before[index], after[index]];
    if (old !== undefined && now !== undefined) compare(old, now, `${path}/${index}`, depth + 1, into);
  }
  // From the end, so that the indexes of the items still to be removed stay valid.
  for (let index = oldEnd - 1; index >= paired; index--) into.push({ op: "remove", path: `${path}/${index}` });
  for (let index = paired; index < newEnd; index++) {
    const value = after[index];
    if (value !== undefined) into.push({ op: "add", path: `${path}/${index}`, value });
  }
}

function pointerToken(key: string): string {
  return key.includes("~") || key.includes("/") ? key.replaceAll("~", "~0").replaceAll("/", "~1") : key;
}
