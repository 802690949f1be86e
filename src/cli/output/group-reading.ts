// What was read from the cluster about one group, for the reports of `reprise status`.
import type { InPlaceRestart } from "../../api/in-place-restart.ts";
import type { Job } from "../../api/job.ts";
import type { JobSet } from "../../api/jobset.ts";
import type { Pod } from "../../api/pod.ts";

/** `unknown`: the user may not read nodes. */
export type NodeState = "reachable" | "unreachable" | "gone" | "unknown";

/** What an agent knows about its worker when it is asked. */
export interface WorkerProgress {
  readonly pod: string;
  /** Whether the worker has reported progress in this epoch. */
  readonly reports: boolean;
  readonly step?: number;
  /** How long it is at that step, or has run without a report. */
  readonly seconds: number;
}

export interface GroupReading {
  readonly object: InPlaceRestart;
  /** Absent if it was deleted in the meantime. */
  readonly jobSet?: JobSet;
  /** Its Pods, if they were read. */
  readonly pods?: readonly Pod[];
  /** Its Jobs, if they were read. */
  readonly jobs?: readonly Job[];
  readonly nodes?: ReadonlyMap<string, NodeState>;
  /** Of the Pods whose agents have answered. */
  readonly progress?: readonly WorkerProgress[];
}
