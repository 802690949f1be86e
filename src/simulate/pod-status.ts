// The status that a kubelet reports for a Pod with an agent and a worker.
import { AGENT } from "../api/names.ts";
import type { ContainerState, ContainerStatus, Pod } from "../api/pod.ts";

export const WORKER = "main";
const INIT = "download";

/** How an agent exits that was told to restart its Pod. */
export const RESTART_EXIT_CODE = 88;

export type PodStatus = Pick<Pod, "phase" | "containers" | "conditions">;

export interface Containers {
  readonly agent: ContainerState;
  readonly agentId: string;
  readonly worker: ContainerState;
  /** Absent until the container is created. */
  readonly workerId?: string | undefined;
  /** Restarts of all containers. */
  readonly restarts: number;
  /** The user's own initContainer. Absent while there is nothing to say about it. */
  readonly init?: ContainerState | undefined;
}

export function podStatus(phase: Pod["phase"], containers: Containers): PodStatus {
  const { agent, agentId, worker, workerId, restarts, init } = containers;
  const isReady = phase === "Running" && worker.kind === "running";
  return {
    phase,
    conditions: [{ type: "Ready", status: isReady ? "True" : "False", reason: "", message: "" }],
    containers: [
      // Its startup probe has succeeded before a worker is created.
      { ...containerStatus(AGENT.container, true, agent, agentId, restarts), started: worker.kind !== "waiting" },
      ...(init === undefined ? [] : [containerStatus(INIT, true, init, undefined, restarts)]),
      containerStatus(WORKER, false, worker, workerId, restarts),
    ],
  };
}

/** A kubelet reports the whole status but keeps conditions that others set. */
export function withStatus(pod: Pod, status: PodStatus): Pod {
  const disrupted = pod.conditions.filter(({ type }) => type === "DisruptionTarget");
  return { ...pod, ...status, conditions: [...status.conditions, ...disrupted] };
}

function containerStatus(
  name: string,
  init: boolean,
  state: ContainerState,
  id: string | undefined,
  restartCount: number,
): ContainerStatus {
  const isUp = state.kind === "running";
  const hasId = id !== undefined && state.kind !== "waiting" && state.kind !== "unknown";
  return { name, init, restartCount, started: isUp, ready: isUp, state, ...(hasId ? { containerID: id } : {}) };
}
