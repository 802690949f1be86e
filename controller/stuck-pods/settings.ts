// The `stuckPods` section of the config.

export interface StuckPodsSettings {
  readonly enabled: boolean;
  /** Milliseconds after the grace period. */
  readonly threshold: number;
  /** Share of unreachable nodes at which no Pod is freed any more. */
  readonly brake: number;
}
