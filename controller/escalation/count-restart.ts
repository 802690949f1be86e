// Counts a group restart towards the budget. Pure.
import type { InPlaceRestartStatus, RestartRecord } from "../../src/api/in-place-restart.ts";

/**
 * The count once the open restart is complete. Only then is its cause final: until the barrier lifts, a disruption or a
 * suspension may still turn out to have taken part, and neither is counted.
 */
export function countRestart({ restarts }: InPlaceRestartStatus, record: RestartRecord | undefined): number {
  return record?.counted === true ? restarts + 1 : restarts;
}
