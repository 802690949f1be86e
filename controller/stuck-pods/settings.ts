// The part of the config that judging stuck Pods needs; the config's `stuckPods` section has this shape.

export interface StuckPodsSettings {
  readonly enabled: boolean;
  /** Milliseconds after the grace period. */
  readonly threshold: number;
  /** Share of unreachable nodes from which on nothing is freed. */
  readonly brake: number;
}
