// Whether a Pod shows that its epoch has ended, and which of its containers is to blame. Pure. The caller knows which
// epoch that is, and which container runs are too old to count.
import type { RestartCause } from "../../src/api/in-place-restart.ts";
import { isTrue } from "../../src/api/metadata.ts";
import { AGENT } from "../../src/api/names.ts";
import type { ContainerStatus, Pod } from "../../src/api/pod.ts";
import { type ExitClasses, type RequestedAction, requestedAction } from "./exit-classes.ts";

export interface PodFailure {
  readonly cause: RestartCause;
  /** Whether it counts towards the budget, as far as this Pod alone shows. */
  readonly counted: boolean;
  readonly requestedAction: RequestedAction;
  /** The worker ended by itself, and was not stopped together with its agent. */
  readonly own?: boolean;
  /** The podFailurePolicy of the Job ignores the exit code. */
  readonly ignored?: boolean;
  /** The run that ended, if the Pod itself lives on. Only such evidence can be stale. */
  readonly containerID?: string;
}

interface PodContext {
  /** Exit classes of the Pod's workers, by container name. */
  readonly exits: Readonly<Record<string, ExitClasses>>;
  /**
   * The Pod's Job is deleted, failed or suspended. JobSet counts its own recreations; a suspension is not a failure.
   */
  readonly jobEnds: boolean;
}

export function findFailure(pod: Pod, context: PodContext): PodFailure | undefined {
  // Also if it was deleted: workers that exit with 0 on SIGTERM complete their index.
  if (pod.phase === "Succeeded") return undefined;
  const ended = failedWorker(pod, context.exits);
  const where = {
    ...placeOf(pod),
    ...(ended === undefined ? {} : { container: ended.name, exitCode: ended.exitCode }),
  };
  if (pod.phase === "Failed" || pod.deletion !== undefined) {
    // Checked first, as podFailurePolicy does: the exit code of a preempted worker says nothing about its program.
    if (isTrue(pod.conditions, "DisruptionTarget"))
      return { cause: { reason: "Disruption", ...where }, counted: false, requestedAction: "restart" };
    const counted = !context.jobEnds;
    if (pod.deletion === undefined) {
      const action = ended?.requestedAction ?? "restart";
      const ignored = isIgnored(ended, context);
      return { cause: { reason: "PodFailed", ...where }, counted, requestedAction: action, own: true, ignored };
    }
    // The Job may fail with this Pod by its podFailurePolicy, and then there is nothing to restart.
    if (ended?.requestedAction === "fail") return undefined;
    return { cause: { reason: "PodDeleted", ...where }, counted, requestedAction: "restart" };
  }
  if (ended === undefined || (ended.requestedAction !== "restart" && !agentRuns(pod))) return undefined;
  return {
    cause: { reason: "ContainerExited", ...where },
    counted: true,
    requestedAction: ended.requestedAction,
    own: agentRuns(pod) || endedBeforeAgent(pod, ended),
    ignored: isIgnored(ended, context),
    ...(ended.containerID === undefined ? {} : { containerID: ended.containerID }),
  };
}

/** Where a failure happened. */
export function placeOf({ name, node }: Pod): Pick<RestartCause, "pod" | "node"> {
  return { pod: name, ...(node === undefined ? {} : { node }) };
}

/** Without a running agent the Pod is restarting in place, and the exit code is that of the signal that stopped it. */
function agentRuns(pod: Pod): boolean {
  return agentOf(pod)?.state.kind === "running";
}

/** A worker that its agent stops ends after the agent. Kubelets report whole seconds, so equal times show nothing. */
function endedBeforeAgent(pod: Pod, { finishedAt }: FailedWorker): boolean {
  const agent = agentOf(pod)?.state;
  return agent?.kind === "terminated" && finishedAt !== "" && finishedAt < (agent.finishedAt ?? "");
}

function isIgnored(ended: FailedWorker | undefined, { exits }: PodContext): boolean {
  return ended !== undefined && exits[ended.name]?.ignored.includes(ended.exitCode) === true;
}

export function agentOf({ containers }: Pod): ContainerStatus | undefined {
  return containers.find(({ name, init }) => init && name === AGENT.container);
}

interface FailedWorker {
  readonly name: string;
  readonly exitCode: number;
  readonly requestedAction: RequestedAction;
  readonly containerID: string | undefined;
  readonly finishedAt: string;
}

/**
 * Picks the container whose exit code requests the strongest action; among equals the first, which often takes others
 * with it.
 */
function failedWorker(pod: Pod, exits: PodContext["exits"]): FailedWorker | undefined {
  let first: FailedWorker | undefined;
  for (const { name, containerID, state } of workerStatuses(pod, Object.keys(exits))) {
    const classes = exits[name];
    if (state.kind !== "terminated" || classes === undefined) continue;
    const action = requestedAction(classes, state.exitCode);
    if (action === undefined) continue;
    const { exitCode, finishedAt = "" } = state;
    const worker = { name, exitCode, requestedAction: action, containerID, finishedAt };
    if (first === undefined || isToBlameBefore(worker, first)) first = worker;
  }
  return first;
}

const STRENGTH: Readonly<Record<RequestedAction, number>> = { restart: 0, recreate: 1, fail: 2 };

function isToBlameBefore(a: FailedWorker, b: FailedWorker): boolean {
  const difference = STRENGTH[a.requestedAction] - STRENGTH[b.requestedAction];
  return difference === 0 ? a.finishedAt < b.finishedAt : difference > 0;
}

export function workerStatuses(pod: Pod, workers: readonly string[]): readonly ContainerStatus[] {
  return pod.containers.filter((container) => !container.init && workers.includes(container.name));
}
