// The files of an agent in shared memory. /dev/shm belongs to the Pod's sandbox, whatever network the Pod uses, and
// survives a restart in place. The UID is for Pods that share /dev/shm with their node (`hostIPC`).

/** Begins the name of every file of an agent in shared memory. */
export const AGENT_FILE_PREFIX = "reprise-agent-";

/** The socket at which `reprise-agent probe` waits. Only the agent's own user can connect. */
export function socketPath(podUid: string): string {
  return `/dev/shm/${AGENT_FILE_PREFIX}${podUid}`;
}

/** The file in which an agent saves since when reprise is gone, for the Pod's next agent. */
export function savedRemovalPath(podUid: string): string {
  return `${socketPath(podUid)}.removed`;
}

/** Marks a folder in shared memory that an earlier agent of the Pod has seen: its workers may have left files there. */
export function seenPath(folder: string, podUid: string): string {
  return `${folder}/${AGENT_FILE_PREFIX}${podUid}.seen`;
}
