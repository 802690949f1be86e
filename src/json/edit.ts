// Reads raw JSON and changes it by copy-on-write: untouched parts are shared with the input by reference.
// Never throws and never mutates its arguments. A field of the wrong type stays as it is: the API server's schema
// validation rejects it with a better message.

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

/** Sets a field. An equivalent value stays exactly as it is, so that the patch holds real changes only. */
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

/** Changes the object in a field. A missing object is created only if the change adds something. */
export function withObject(parent: JsonObject, key: string, change: (value: JsonObject) => JsonObject): JsonObject {
  const value = parent[key];
  if (!isAbsent(value) && !isObject(value)) return parent;
  const current = value ?? {};
  const changed = change(current);
  return changed === current ? parent : { ...parent, [key]: changed };
}

/** Changes the list in a field. A missing list is created only if the change adds something. */
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

/** Changes each item. Returns the same list when no item changed. */
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

/** Appends the items that the list does not have yet. */
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
