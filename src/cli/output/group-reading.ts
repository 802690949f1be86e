// What was read from the cluster about one group, for the reports of `reprise status`.
import type { InPlaceRestart } from "../../api/in-place-restart.ts";
import type { Job } from "../../api/job.ts";
import type { JobSet } from "../../api/jobset.ts";
import type { Pod } from "../../api/pod.ts";

/** `unknown`: the user may not read nodes. */
export type NodeState = "reachable" | "unreachable" | "gone" | "unknown";

export interface GroupReading {
  readonly object: InPlaceRestart;
  /** Absent if it was deleted in the meantime. */
  readonly jobSet?: JobSet;
  /** Its Pods, if they were read. */
  readonly pods?: readonly Pod[];
  /** Its Jobs, if they were read. */
  readonly jobs?: readonly Job[];
  readonly nodes?: ReadonlyMap<string, NodeState>;
}
