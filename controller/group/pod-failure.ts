// Whether a Pod shows that its epoch has ended for the group, and who is to blame. Pure; which epoch counts, and which
// container runs are too old to count, is for the caller to judge.
import type { RestartCause } from "../../src/api/in-place-restart.ts";
import { isTrue } from "../../src/api/metadata.ts";
import { AGENT } from "../../src/api/names.ts";
import type { ContainerStatus, Pod } from "../../src/api/pod.ts";
import { type Ask, askOf, type ExitClasses } from "./exit-classes.ts";

export interface Finding {
  readonly cause: RestartCause;
  /** Whether it counts towards the budget, as far as this Pod alone can tell. */
  readonly counted: boolean;
  readonly ask: Ask;
  /** The run that ended, when the Pod itself lives on: only such evidence can be stale. */
  readonly containerID?: string;
}

export interface PodContext {
  /** Of the Pod's workers, by their names. */
  readonly exits: Readonly<Record<string, ExitClasses>>;
  /** The Pod's Job is being deleted, has failed or is suspended: JobSet counts itself what it recreates, and a suspension is no failure. */
  readonly jobEnds: boolean;
}

export function findFailure(pod: Pod, context: PodContext): Finding | undefined {
  const ended = failedWorker(pod, context.exits);
  const where = { pod: pod.name, ...(ended === undefined ? {} : { container: ended.name, exitCode: ended.exitCode }) };
  if (pod.phase === "Failed" || pod.deletion !== undefined) {
    // First, as in podFailurePolicy: what a preempted worker exits with is not its program's verdict.
    if (isTrue(pod.conditions, "DisruptionTarget"))
      return { cause: { reason: "Disruption", ...where }, counted: false, ask: "restart" };
    const counted = !context.jobEnds;
    if (pod.deletion === undefined)
      return { cause: { reason: "PodFailed", ...where }, counted, ask: ended?.ask ?? "restart" };
    // Its Job fails with it, if podFailurePolicy says so, and then there is nothing to restart.
    if (ended?.ask === "fail") return undefined;
    return { cause: { reason: "PodDeleted", ...where }, counted, ask: "restart" };
  }
  if (ended === undefined || (ended.ask !== "restart" && !agentRuns(pod))) return undefined;
  return {
    cause: { reason: "ContainerExited", ...where },
    counted: true,
    ask: ended.ask,
    ...(ended.containerID === undefined ? {} : { containerID: ended.containerID }),
  };
}

/** Without its agent the Pod restarts in place, and the code is that of the signal which ended the worker for it. */
function agentRuns(pod: Pod): boolean {
  return agentOf(pod)?.state.kind === "running";
}

export function agentOf({ containers }: Pod): ContainerStatus | undefined {
  return containers.find(({ name, init }) => init && name === AGENT.container);
}

interface FailedWorker {
  readonly name: string;
  readonly exitCode: number;
  readonly ask: Ask;
  readonly containerID: string | undefined;
  readonly finishedAt: string;
}

/** Of several the one whose code asks for most, and of those the one that ended first: others often fail because of it. */
function failedWorker(pod: Pod, exits: PodContext["exits"]): FailedWorker | undefined {
  let first: FailedWorker | undefined;
  for (const { name, containerID, state } of workerStatuses(pod, Object.keys(exits))) {
    const classes = exits[name];
    if (state.kind !== "terminated" || classes === undefined) continue;
    const ask = askOf(classes, state.exitCode);
    if (ask === undefined) continue;
    const { exitCode, finishedAt = "" } = state;
    const worker = { name, exitCode, ask, containerID, finishedAt };
    if (first === undefined || isBefore(worker, first)) first = worker;
  }
  return first;
}

const WEIGHT: Readonly<Record<Ask, number>> = { restart: 0, recreate: 1, fail: 2 };

function isBefore(a: FailedWorker, b: FailedWorker): boolean {
  return WEIGHT[a.ask] === WEIGHT[b.ask] ? a.finishedAt < b.finishedAt : WEIGHT[a.ask] > WEIGHT[b.ask];
}

export function workerStatuses(pod: Pod, workers: readonly string[]): readonly ContainerStatus[] {
  return pod.containers.filter((container) => !container.init && workers.includes(container.name));
}
