// What agent and gate agree on: where they meet, what the agent says, and how long the gate waits for it.

/**
 * The socket of the Pod's barrier. It is in shared memory, which every Pod has for itself whatever network it uses, and
 * only the agent's own user can connect. The UID is for Pods that share /dev/shm with their node (`hostIPC`).
 */
export function socketPath(podUid: string): string {
  return `/dev/shm/${AGENT_FILE_PREFIX}${podUid}`;
}

/** Begins the name of every file of an agent in shared memory. */
export const AGENT_FILE_PREFIX = "reprise-agent-";

/**
 * The file in which an agent saves the epoch that it holds the barrier for. /dev/shm belongs to the Pod's sandbox and
 * survives a restart in place, so the Pod's next agent finds it.
 */
export function savedEpochPath(podUid: string): string {
  return `${socketPath(podUid)}.epoch`;
}

/** The file in which an agent saves since when reprise is gone, for the Pod's next agent. */
export function savedRemovalPath(podUid: string): string {
  return `${socketPath(podUid)}.removed`;
}

/** Marks a folder in shared memory that an earlier agent of the Pod has seen: its workers may have left files there. */
export function seenPath(folder: string, podUid: string): string {
  return `${folder}/${AGENT_FILE_PREFIX}${podUid}.seen`;
}

/** Sent when the barrier lifts. */
export const LIFTED = "lifted\n";

/** Sent from time to time before that: the API server has just confirmed that the Pod may still wait. */
export const KEEP_WAITING = "keep waiting\n";

/**
 * How long a gate waits without a message: longer than an API server takes to come back, shorter than users accept for
 * a Pod to be deleted.
 */
export const GATE_TIMEOUT_SECONDS = 60;
