// What a Pod does right now, in one word for people. The controller's decisions use none of this. Pure.
import type { InPlaceRestartStatus } from "../../api/in-place-restart.ts";
import type { ContainerStatus, Pod } from "../../api/pod.ts";
import type { PodState } from "./wire.ts";

type Epochs = Pick<InPlaceRestartStatus, "deprecatedEpoch" | "syncedEpoch" | "heldStages">;

/** `epochs` are those of its group; undefined before the controller has written them. */
export function podState(pod: Pod, epochs: Epochs | undefined): PodState {
  if (pod.phase === "Succeeded") return "succeeded";
  if (pod.phase === "Failed") return "failed";
  if (pod.deletion !== undefined) return "terminating";
  const workers = pod.containers.filter(({ init }) => !init);
  // Its exit ends the epoch. The others are told to restart, which ends their workers, too, but after this one.
  const epoch = epochOf(pod);
  const hasEnded = epochs !== undefined && epoch >= 0 && epoch <= epochs.deprecatedEpoch;
  if (workers.some(hasCrashed) && !isAhead(epoch, epochs)) return "failed";
  if (hasEnded) return "restarting";
  if (epoch < 0) return "pending";
  if (epochs === undefined || isAhead(epoch, epochs) || epochs.heldStages.includes(pod.replicatedJob)) return "barrier";
  return workers.length > 0 && workers.every(isUp) ? "running" : "starting";
}

/** -1 without one. */
export function epochOf({ epoch }: Pod): number {
  return epoch.kind === "present" ? epoch.epoch : -1;
}

/** Of its workers; the agent restarts with them. */
export function restartsOf({ containers }: Pod): number {
  return containers.reduce((most, { init, restartCount }) => (init ? most : Math.max(most, restartCount)), 0);
}

/** In an epoch that the barrier does not admit yet. */
function isAhead(epoch: number, epochs: Epochs | undefined): boolean {
  return epochs !== undefined && epoch > epochs.syncedEpoch;
}

function hasCrashed({ state }: ContainerStatus): boolean {
  return state.kind === "terminated" && state.exitCode !== 0;
}

/** A worker that has succeeded waits for the others of its Pod. */
function isUp({ state }: ContainerStatus): boolean {
  return state.kind === "running" || (state.kind === "terminated" && state.exitCode === 0);
}
