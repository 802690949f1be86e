// When the controller escalates and backs off for a group that keeps failing. Pure data.
import type { Milliseconds } from "./duration.ts";

export interface RestartPolicy {
  /** Consecutive failures of one slot without progress before a restart in place is escalated. 0 means never. */
  readonly escalateAfter: number;
  /** A run of this length counts as progress and resets earlier failures. */
  readonly progressAfter: Milliseconds;
  readonly backoff: {
    /** Consecutive restarts without progress that are not delayed. */
    readonly after: number;
    /** How long the barrier is held at the next restart. Doubles with each further one, up to `max`. */
    readonly first: Milliseconds;
    readonly max: Milliseconds;
  };
}

/**
 * Restarts in place exist for recovery in seconds, so the first three are not delayed. Then the kubelet's values for
 * CrashLoopBackOff apply: 10 s, doubled up to 5 minutes, reset after a run of 10 minutes.
 */
export const DEFAULT_RESTART_POLICY: RestartPolicy = {
  escalateAfter: 3,
  progressAfter: 600_000,
  backoff: { after: 3, first: 10_000, max: 300_000 },
};
