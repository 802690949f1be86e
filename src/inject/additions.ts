// Everything that injection adds to one replicatedJob, as data, and the one function that adds it. For a new JobSet the
// additions come from the settings (build.ts), for a stored one from the object itself (stored/read-back.ts).

import { withObject } from "../json/edit.ts";
import type { JsonObject } from "../json/types.ts";
import type { Overwrites } from "./overwrites.ts";
import { withAgentFirst } from "./parts/agent.ts";
import { withJobFields, withPodFailureRules, withSlots } from "./parts/job.ts";
import { type PodAdditions, withPodFields, withPodMetadata } from "./parts/pod.ts";
import { type ProgressAdditions, withProgress } from "./parts/progress.ts";
import { withRetries } from "./parts/retries.ts";
import { changeJob, changePod } from "./parts/template.ts";
import { withTolerations } from "./parts/tolerations.ts";
import { type WorkerAdditions, withWorkers } from "./parts/workers.ts";

export interface Additions {
  readonly agent: JsonObject;
  readonly jobFields: JsonObject;
  readonly podFailureRules: readonly JsonObject[];
  readonly pod: PodAdditions;
  readonly workers: WorkerAdditions;
  /** Containers that keep the OnFailure of their Pod. */
  readonly retried: ReadonlySet<string>;
  readonly tolerations: readonly JsonObject[];
  /** Where workers report their progress. Undefined if no hangs are detected, or by other means. */
  readonly progress: ProgressAdditions | undefined;
}

export function withAdditions(
  replicatedJob: JsonObject,
  additions: Additions,
  index: number,
  overwrites: Overwrites,
): JsonObject {
  return changeJob(replicatedJob, (job) => {
    const slots = withSlots(withJobFields(job, additions.jobFields, index, overwrites));
    return changePod(withPodFailureRules(slots, additions.podFailureRules), (pod) =>
      withObject(withPodMetadata(pod, additions.pod), "spec", (podSpec) => {
        const retrying = withRetries(podSpec, additions.retried);
        const fields = withTolerations(withPodFields(retrying, additions.pod), additions.tolerations);
        const workers = withWorkers(fields, additions.workers, index, overwrites);
        const reporting = withProgress(workers, additions.progress, new Set(additions.workers.rules.keys()));
        return withAgentFirst(reporting, additions.agent);
      }),
    );
  });
}
