// The gate: the agent's postStart hook, a second process in the agent's container. It succeeds only after the barrier
// of its Pod lifts. It fails when the agent exits, or when the agent has not confirmed for a while that the Pod may
// still wait: while the hook runs the kubelet does nothing else for the Pod, not even delete it, so the hook must end.
// When it fails, the kubelet kills the agent and the Pod restarts in place.
import { connect } from "bun";
import { GATE_TIMEOUT_SECONDS, KEEP_WAITING, LIFTED, socketPath } from "./gate-socket.ts";

/** Delay before the next connection attempt. Short, because a recovery waits for it. */
const RECONNECT_MS = 20;

/** Retries while no agent listens: the kubelet starts the agent first and runs the hook right after. */
export async function waitAtGate(podUid: string, timeoutSeconds = GATE_TIMEOUT_SECONDS): Promise<void> {
  const deadline = performance.now() + timeoutSeconds * 1000;
  for (;;) {
    try {
      return await waitForLift(podUid, timeoutSeconds);
    } catch (error) {
      if (error instanceof AgentLost || performance.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
  }
}

/** The agent held the barrier when the gate connected, and no longer does. */
class AgentLost extends Error {}

/** Resolves when the barrier lifts. Rejects with AgentLost when the agent exits or stays silent for too long. */
export function waitForLift(podUid: string, timeoutSeconds: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = "";
    const connecting = connect<undefined>({
      unix: socketPath(podUid),
      socket: {
        open: (socket) => socket.timeout(timeoutSeconds),
        data: (socket, chunk) => {
          socket.timeout(timeoutSeconds);
          received += Buffer.from(chunk).toString("latin1");
          while (received.startsWith(KEEP_WAITING)) received = received.slice(KEEP_WAITING.length);
          if (received !== LIFTED) return;
          resolve();
          socket.terminate();
        },
        close: () => reject(new AgentLost("the agent ended before the barrier lifted")),
        timeout: (socket) => {
          reject(new AgentLost(`no message from the agent for ${timeoutSeconds} s`));
          socket.terminate();
        },
        error: (_socket, error) => reject(error),
      },
    });
    connecting.catch(() => reject(new Error("no agent holds the barrier")));
  });
}
