// Exponential delays with jitter, shared by the reflector and the work queue.

export interface BackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** The delay before attempt `failures + 1`: doubles per failure up to the maximum, then spread over [50 %, 100 %]. */
export function backoffDelay(options: BackoffOptions, failures: number, random: () => number): number {
  const full = Math.min(options.maxMs, options.initialMs * 2 ** Math.max(0, failures - 1));
  // Half of the delay is fixed, so that a retry is never immediate; the other half keeps many clients from moving in
  // step.
  return full * (0.5 + random() / 2);
}
