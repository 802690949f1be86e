// The `stuckPods` section of the config.

export interface StuckPodsSettings {
  readonly enabled: boolean;
  /** Milliseconds after the grace period. */
  readonly threshold: number;
  /** Share of unreachable nodes from which on no Pod is freed. */
  readonly brake: number;
}
