/**
 * Where an agent holds the barrier of its Pod: a socket in the folder of shared memory, which a Pod has for itself whatever network it uses,
 * and which only the agent's own user may connect to. The UID is for Pods that share that folder with their node (`hostIPC`).
 */
export function socketOf(podUid: string): string {
  return `/dev/shm/reprise-agent-${podUid}`;
}

/**
 * Where an agent keeps the epoch for which it holds the barrier. The folder belongs to the Pod's sandbox, so it outlives a restart in
 * place: the agent after it finds the file.
 */
export function keptEpochOf(podUid: string): string {
  return `${socketOf(podUid)}.epoch`;
}

/** Said when the barrier has lifted. */
export const LIFTED = "lifted\n";

/** Said from time to time before: the API server has just confirmed that the Pod may go on waiting. */
export const WAIT_ON = "wait on\n";

/** How long a gate waits without such a word: longer than an API server takes to come back, shorter than anybody waits for a Pod to be gone. */
export const GATE_PATIENCE_SECONDS = 60;
