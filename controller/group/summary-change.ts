// What a status says only to people: how the group looks now. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import { isEqual } from "../../src/json/equal.ts";

/** Whether two statuses differ in nothing that the protocol needs. */
export function differInSummaryOnly(a: InPlaceRestartStatus, b: InPlaceRestartStatus): boolean {
  return isEqual(withoutSummary(a), withoutSummary(b));
}

function withoutSummary(status: InPlaceRestartStatus): object {
  const { phase: _phase, ready: _ready, conditions: _conditions, availability: _availability, ...rest } = status;
  return rest;
}
