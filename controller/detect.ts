// Whether a Pod shows that its epoch has ended for the group, and who is to blame. Pure; which epoch counts, and which
// container runs are too old to count, is for the caller to judge.
import type { RestartCause } from "../src/api/in-place-restart.ts";
import { isTrue } from "../src/api/metadata.ts";
import type { ContainerStatus, Pod } from "../src/api/pod.ts";

export interface Finding {
  readonly cause: RestartCause;
  /** Whether it counts towards the budget, as far as this Pod alone can tell. */
  readonly counted: boolean;
  /** The run that ended, when the Pod itself lives on: only such evidence can be stale. */
  readonly containerID?: string;
}

export interface PodContext {
  readonly workers: readonly string[];
  /** Exit codes with which JobSet fails the whole set: then there is nothing to restart. */
  readonly failExitCodes: readonly number[];
  /** The Pod's Job is being deleted or has failed: JobSet recreates it and counts that itself. */
  readonly jobEnds: boolean;
}

export function findFailure(pod: Pod, context: PodContext): Finding | undefined {
  const ended = firstFailed(pod, context.workers);
  if (ended !== undefined && context.failExitCodes.includes(ended.exitCode)) return undefined;
  const where = { pod: pod.name, ...(ended === undefined ? {} : { container: ended.name, exitCode: ended.exitCode }) };
  if (pod.phase === "Failed" || pod.deletion !== undefined) {
    if (isTrue(pod.conditions, "DisruptionTarget"))
      return { cause: { reason: "Disruption", ...where }, counted: false };
    const reason = pod.deletion === undefined ? "PodFailed" : "PodDeleted";
    return { cause: { reason, ...where }, counted: !context.jobEnds };
  }
  if (ended === undefined) return undefined;
  return {
    cause: { reason: "ContainerExited", ...where },
    counted: true,
    ...(ended.containerID === undefined ? {} : { containerID: ended.containerID }),
  };
}

interface FailedWorker {
  readonly name: string;
  readonly exitCode: number;
  readonly containerID: string | undefined;
}

/** Of several failed workers the one that ended first: the others often fail because of it. */
function firstFailed(pod: Pod, workers: readonly string[]): FailedWorker | undefined {
  let first: { readonly worker: FailedWorker; readonly finishedAt: string } | undefined;
  for (const { name, containerID, state } of workerStatuses(pod, workers)) {
    if (state.kind !== "terminated" || state.exitCode === 0) continue;
    const finishedAt = state.finishedAt ?? "";
    if (first === undefined || finishedAt < first.finishedAt) {
      first = { worker: { name, exitCode: state.exitCode, containerID }, finishedAt };
    }
  }
  return first?.worker;
}

export function workerStatuses(pod: Pod, workers: readonly string[]): readonly ContainerStatus[] {
  return pod.containers.filter((container) => !container.init && workers.includes(container.name));
}
