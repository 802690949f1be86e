// Invariants of injection for any object. Each check throws with what it found.
import { deepStrictEqual } from "node:assert/strict";
import jsonPatch from "fast-json-patch";
import type { InjectionOutcome } from "../../src/api/admission.ts";
import { AGENT, ANNOTATION, LABEL } from "../../src/api/names.ts";
import { createPatch } from "../../src/json/patch.ts";
import type { Json, JsonObject } from "../../src/json/types.ts";
import { create, update } from "./injection.ts";

/** Fields that injection may replace. Everything else that the user wrote must stay. */
const REPLACED: ReadonlySet<string> = new Set([
  "backoffLimit",
  "backoffLimitPerIndex",
  "completionMode",
  "podReplacementPolicy",
  "restartPolicy",
  ANNOTATION.status,
  LABEL.injected,
]);

/** `storable`: has no field of a wrong type, which the API server would reject. */
export function checkInvariants(object: JsonObject, storable: boolean): InjectionOutcome {
  const outcome = create(deepFrozen(object));
  if (outcome.kind !== "injected") return outcome;
  const result = deepFrozen(outcome.object);
  if (!isCopy(object)) assert(survives(object, result), "something that the user wrote is gone");

  const again = create(result);
  assert(again.kind === "injected", "an injected object is not injected again");
  if (again.kind === "injected") assert(again.object === result, "a second injection is not the identity");

  const restored = update(object, result);
  assert(restored.kind === "injected", "an update of an injected object is not restored");
  if (restored.kind === "injected" && storable) deepStrictEqual(restored.object["spec"], result["spec"]);

  const unchanged = update(result, result);
  if (unchanged.kind === "injected")
    assert(createPatch(result, unchanged.object).length === 0, "an empty update patches");
  return outcome;
}

/** The patch, applied by another implementation, gives the outcome. */
export function checkPatch(object: JsonObject, outcome: InjectionOutcome): void {
  if (outcome.kind !== "injected") return;
  const patch = createPatch(object, outcome.object);
  const document: JsonObject = structuredClone(object);
  const made = jsonPatch.applyPatch(document, structuredClone(patch), true, true, false).newDocument;
  deepStrictEqual(made, structuredClone(outcome.object));
}

/** A copy of an injected object: its old additions may be removed. */
function isCopy(object: JsonObject): boolean {
  const text = JSON.stringify(object);
  return text.includes(ANNOTATION.status) || text.includes(AGENT.container);
}

function survives(before: Json, after: Json | undefined): boolean {
  // Injection may set a field that was not set, and null means not set.
  if (before === null) return true;
  if (typeof before !== "object") return before === after;
  if (typeof after !== "object" || after === null) return false;
  if (Array.isArray(before)) return Array.isArray(after) && survivesInOrder(before, after);
  if (Array.isArray(after)) return false;
  return Object.keys(before).every((key) => {
    const value = before[key];
    if (REPLACED.has(key) || value === undefined) return true;
    return (Object.hasOwn(after, key) || value === null) && survives(value, after[key]);
  });
}

function survivesInOrder(before: readonly Json[], after: readonly Json[]): boolean {
  let next = 0;
  return before.every((item) => {
    while (next < after.length && !survives(item, after[next])) next++;
    return next++ < after.length;
  });
}

/** A frozen object throws when it is changed. */
function deepFrozen<T extends Json>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) deepFrozen(item);
  }
  return value;
}

function assert(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}
