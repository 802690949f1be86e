// How patient the controller is with a group that fails again and again. Pure data.
import type { Milliseconds } from "./duration.ts";

export interface RestartPolicy {
  /**
   * Failures of one slot in a row, without progress between them, after which more is done than a restart in place. 0:
   * never.
   */
  readonly escalateAfter: number;
  /** A run of this length is progress: the failures before it are forgotten. */
  readonly progressAfter: Milliseconds;
  readonly backoff: {
    /** Restarts in a row without progress that are not delayed at all. */
    readonly after: number;
    /** How long the barrier is held at the next restart; doubled with each one after it, up to `max`. */
    readonly first: Milliseconds;
    readonly max: Milliseconds;
  };
}

/**
 * Recovery in seconds is what a restart in place is for, so three are never delayed. After them the kubelet's own
 * numbers for containers that crash in a loop: 10 s, doubled up to 5 minutes, forgotten after a good run of 10 minutes.
 */
export const DEFAULT_RESTART_POLICY: RestartPolicy = {
  escalateAfter: 3,
  progressAfter: 600_000,
  backoff: { after: 3, first: 10_000, max: 300_000 },
};
