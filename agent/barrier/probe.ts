// `reprise-agent probe`: the startup probe of a Pod whose port could collide with another one's. It asks the agent at
// its Unix socket what the kubelet would ask at a port, and ends when the barrier lifts or the agent is gone.
import { connect } from "bun";
import { BARRIER_PATH } from "../../src/api/names.ts";
import { socketPath } from "./agent-files.ts";
import { LIFTED } from "./barrier.ts";

/** Resolves when the barrier lifts. Rejects when no agent holds it or the agent exits; the kubelet then asks again. */
export function askAtSocket(podUid: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = "";
    const connecting = connect<undefined>({
      unix: socketPath(podUid),
      socket: {
        open: (socket) => {
          // The agent is silent until the barrier lifts. The kubelet ends a probe that takes too long.
          socket.timeout(0);
          socket.write(`GET ${BARRIER_PATH} HTTP/1.1\r\n\r\n`);
        },
        data: (socket, piece) => {
          received += Buffer.from(piece).toString("latin1");
          if (!received.startsWith(LIFTED)) return;
          resolve();
          socket.terminate();
        },
        close: () => reject(new Error("the agent ended before the barrier lifted")),
        error: (_socket, error) => reject(error),
      },
    });
    connecting.catch(() => reject(new Error("no agent holds the barrier")));
  });
}
