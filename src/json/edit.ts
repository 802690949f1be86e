// Reading raw JSON and changing it by copy-on-write: what is not touched is shared with the input by reference.
// Never throws and never changes its arguments. A field of the wrong type is left as it is: the API server's schema
// refuses it with a better message than ours.

import { equivalent } from "./equivalent.ts";
import type { Json, JsonObject } from "./types.ts";

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Kubernetes reads null as "not set". */
export function isAbsent(value: Json | undefined): value is null | undefined {
  return value === undefined || value === null;
}

export function objectAt(parent: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = parent?.[key];
  return isObject(value) ? value : undefined;
}

export function listAt(parent: JsonObject | undefined, key: string): readonly Json[] {
  const value = parent?.[key];
  return Array.isArray(value) ? value : [];
}

export function textAt(parent: JsonObject | undefined, key: string): string | undefined {
  const value = parent?.[key];
  return typeof value === "string" ? value : undefined;
}

/** The value in place of the field's. An equivalent one stays exactly as it is, so that nothing is written for nothing. */
export function withField(parent: JsonObject, key: string, value: Json): JsonObject {
  return equivalent(parent[key], value) ? parent : { ...parent, [key]: value };
}

export function withDefault(parent: JsonObject, key: string, value: Json): JsonObject {
  return isAbsent(parent[key]) ? { ...parent, [key]: value } : parent;
}

export function withoutField(parent: JsonObject, key: string): JsonObject {
  if (!Object.hasOwn(parent, key)) return parent;
  const { [key]: _removed, ...rest } = parent;
  return rest;
}

/** Changes the object in a field; one that is missing is made only if there is something to put into it. */
export function withObject(parent: JsonObject, key: string, change: (value: JsonObject) => JsonObject): JsonObject {
  const value = parent[key];
  if (!isAbsent(value) && !isObject(value)) return parent;
  const current = value ?? {};
  const changed = change(current);
  return changed === current ? parent : { ...parent, [key]: changed };
}

/** Changes the list in a field; one that is missing is made only if there is something to put into it. */
export function withList(
  parent: JsonObject,
  key: string,
  change: (list: readonly Json[]) => readonly Json[],
): JsonObject {
  const value = parent[key];
  if (!isAbsent(value) && !Array.isArray(value)) return parent;
  const current: readonly Json[] = value ?? [];
  const changed = change(current);
  return changed === current ? parent : { ...parent, [key]: [...changed] };
}

/** The list with each item changed; the same list when no item did. */
export function mapShared(list: readonly Json[], change: (item: Json, index: number) => Json): readonly Json[] {
  let changed: Json[] | undefined;
  for (const [index, item] of list.entries()) {
    const next = change(item, index);
    if (next === item) continue;
    changed ??= [...list];
    changed[index] = next;
  }
  return changed ?? list;
}

/** The list with the items that are not in it yet behind its own. */
export function withAppended(list: readonly Json[], items: readonly Json[]): readonly Json[] {
  const missing = items.filter((item) => !list.some((present) => equivalent(present, item)));
  return missing.length === 0 ? list : [...list, ...missing];
}

export function withoutItems(list: readonly Json[], isUnwanted: (item: Json) => boolean): readonly Json[] {
  return list.some(isUnwanted) ? list.filter((item) => !isUnwanted(item)) : list;
}

export function named(list: readonly Json[], name: string): JsonObject | undefined {
  return list.filter(isObject).find((item) => item["name"] === name);
}
