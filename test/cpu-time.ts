// Limits on the work of a piece of code, in CPU time: a busy machine does not matter.
import { expect } from "vitest";

/** Runs it, and fails if it has taken more CPU time. */
export function within<T>(seconds: number, work: () => T): T {
  const started = process.cpuUsage();
  const result = work();
  expect(process.cpuUsage(started).user / 1e6).toBeLessThan(seconds);
  return result;
}
