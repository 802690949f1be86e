// Slots for the clusters of tests. They begin at 16, so that a developer's own cluster keeps the low numbers.
import { freeSlot } from "../cluster/cluster.ts";

const FIRST = 16;
const SLOTS_PER_WORKER = 4;
const WORKERS = 4;

/** A free slot from a range of this worker's own, so that two test files never race for one. */
export function freeTestSlot(): number {
  const worker = Number(process.env["VITEST_POOL_ID"] ?? 0) % WORKERS;
  return freeSlot(FIRST + worker * SLOTS_PER_WORKER);
}
