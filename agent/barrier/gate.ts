// The gate's process: the agent's postStart hook. It succeeds when the barrier of its Pod has lifted, and never before. It fails when
// the agent ends, or when nobody has confirmed for a while that the Pod may wait: as long as it runs the kubelet does nothing else for
// the Pod and does not even delete it, so it must not run for ever. The kubelet then ends the agent, and the Pod starts anew.
import { AgentLost, liftOf } from "./barrier.ts";
import { GATE_PATIENCE_SECONDS } from "./socket-name.ts";

/** Until it asks again: little, because a recovery waits for it. */
const ASK_AGAIN_MS = 20;

/** An agent that is not there yet will come: the kubelet starts it first, and the gate at once after it. */
export async function waitAtGate(podUid: string, patienceSeconds = GATE_PATIENCE_SECONDS): Promise<void> {
  const end = performance.now() + patienceSeconds * 1000;
  for (;;) {
    try {
      return await liftOf(podUid, patienceSeconds);
    } catch (error) {
      if (error instanceof AgentLost || performance.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
}
