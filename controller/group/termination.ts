// How a worker of a Pod ended, as far as the status of the Pod shows it: what blame compares between Pods. Pure.
import type { Pod } from "../../src/api/pod.ts";
import { agentOf } from "./pod-failure.ts";

export interface Termination {
  readonly node?: string;
  /** Why, in the words of the kubelet, such as OOMKilled. */
  readonly reason: string;
  /** By the clock of the node, in milliseconds since 1970. The kubelet reports whole seconds. */
  readonly finishedAt?: number;
  /** When the agent of the Pod ended, if it has. By the same clock. */
  readonly agentFinishedAt?: number;
  /** The agent had ended by itself before: no worker did that. */
  readonly agentFailed?: boolean;
  readonly message?: string;
}

/** `agentExitCode`: how the agent exits when it is told to. */
export function terminationOf(
  pod: Pod,
  container: string | undefined,
  agentExitCode: number | undefined,
): Termination | undefined {
  const state = pod.containers.find(({ name, init }) => !init && name === container)?.state;
  if (state?.kind !== "terminated") return undefined;
  const agent = agentOf(pod)?.state;
  const finishedAt = instant(state.finishedAt);
  const agentFinishedAt = agent?.kind === "terminated" ? instant(agent.finishedAt) : undefined;
  const hasFailed = agent?.kind === "terminated" && agentExitCode !== undefined && agent.exitCode !== agentExitCode;
  // A kubelet that restarts the Pod because of its worker stops the agent afterwards.
  const agentFailed = hasFailed && (agentFinishedAt ?? 0) <= (finishedAt ?? 0);
  return {
    reason: state.reason,
    ...(pod.node === undefined ? {} : { node: pod.node }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(agentFinishedAt === undefined ? {} : { agentFinishedAt }),
    ...(agentFailed ? { agentFailed } : {}),
    ...(state.message === undefined ? {} : { message: state.message }),
  };
}

function instant(time: string | undefined): number | undefined {
  const instant = Date.parse(time ?? "");
  return Number.isNaN(instant) ? undefined : instant;
}
