// The JobSet that a simulation runs: its name, and the stages it consists of.
import type { Dependency } from "../api/jobset.ts";
import type { PolicyShape } from "./policies.ts";

export const NAMESPACE = "default";
export const JOB_SET = "train";
/** The key of the simulated group. */
export const GROUP_KEY = `${NAMESPACE}/${JOB_SET}`;

/** Pods are assigned to them in turn. */
export const NODES = ["node-0", "node-1", "node-2"] as const;

export interface StageShape {
  readonly name: string;
  readonly replicas: number;
  readonly parallelism: number;
  readonly dependsOn: readonly Dependency[];
}

export interface JobSetShape {
  readonly stages: readonly StageShape[];
  readonly inOrder: boolean;
  readonly maxRestarts: number;
  readonly policies?: PolicyShape;
  /** The annotation of the JobSet. */
  readonly escalateAfter?: number;
  /** Hangs are detected, and a group that hangs restarts. */
  readonly hangAfterMs?: number;
}

/** The slots of a stage, as "job/index". */
export function slotNames({ name, replicas, parallelism }: StageShape): readonly string[] {
  return Array.from({ length: replicas * parallelism }, (_, slot) => {
    return `${JOB_SET}-${name}-${Math.floor(slot / parallelism)}/${slot % parallelism}`;
  });
}
