// The agent's side of the barrier, and the place where it is lifted. The gate (gate.ts), a postStart hook of the same
// container, ends when the barrier lifts, and the kubelet starts no other container before that. Agent and gate meet at
// a Unix socket that only processes of the Pod can reach: no port, no volume.
import { file, listen, type Socket } from "bun";
import { reasonOf } from "../../src/errors.ts";
import type { Log } from "../log.ts";
import { KEEP_WAITING, LIFTED, socketPath } from "./gate-socket.ts";

/** Delay before another attempt to open the socket. */
const LISTEN_RETRY_MS = 500;

/** Time for the gate to read the answer, which takes milliseconds. */
const ANSWER_TIMEOUT_SECONDS = 10;

/**
 * A kubelet that dies after it started the agent and before it ran the hook comes back and starts the workers without a
 * gate. While the API server is away, only this timeout notices. No shorter: on an overloaded node the hook runs late,
 * and a restart would add load.
 */
const GATE_TIMEOUT_MS = 60_000;

interface BarrierOptions {
  /** Nothing holds the workers back: the gate ended before the barrier lifted, or it never connected. */
  readonly onGateLost: (how: "ended" | "never connected") => void;
  readonly log: Log;
}

export class Barrier {
  readonly #waiting = new Set<Socket<undefined>>();
  readonly #options: BarrierOptions;
  #lifted = false;
  #gateConnected = false;

  constructor(options: BarrierOptions) {
    this.#options = options;
  }

  get isLifted(): boolean {
    return this.#lifted;
  }

  /** Retries until it listens: an agent without a barrier must not take its Pod down. */
  async listen(podUid: string, lastReason = ""): Promise<void> {
    const { log } = this.#options;
    const path = socketPath(podUid);
    try {
      // The previous agent left its socket behind: a restart in place kills processes without cleanup.
      await removeSocket(podUid);
      listen<undefined>({
        unix: path,
        socket: {
          open: (socket) => this.#onConnect(socket),
          // The gate sends nothing, and nothing that it could send matters.
          data: () => {},
          close: (socket) => this.#onClose(socket),
          timeout: (socket) => socket.terminate(),
          // The gate may disconnect at any time.
          error: (socket) => socket.terminate(),
        },
      });
      log.info("holding the barrier");
      setTimeout(() => this.#checkGateConnected(), GATE_TIMEOUT_MS);
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== lastReason) log.warn("cannot listen for the gate", { reason });
      setTimeout(() => void this.listen(podUid, reason), LISTEN_RETRY_MS);
    }
  }

  /** Restarts the gate's timeout. */
  keepWaiting(): void {
    for (const socket of this.#waiting) socket.write(KEEP_WAITING);
  }

  lift(): void {
    this.#lifted = true;
    for (const socket of this.#waiting) releaseGate(socket);
  }

  #onConnect(socket: Socket<undefined>): void {
    this.#gateConnected = true;
    if (this.#lifted) {
      releaseGate(socket);
      return;
    }
    // A gate is silent, and bun closes silent connections after two minutes.
    socket.timeout(0);
    this.#waiting.add(socket);
  }

  #onClose(socket: Socket<undefined>): void {
    if (this.#waiting.delete(socket) && !this.#lifted) this.#options.onGateLost("ended");
  }

  #checkGateConnected(): void {
    if (!this.#gateConnected && !this.#lifted) this.#options.onGateLost("never connected");
  }
}

/** For cleanup at exit: a Pod with `hostIPC` would leave the socket on its node. */
export async function removeSocket(podUid: string): Promise<void> {
  await file(socketPath(podUid))
    .delete()
    .catch(() => {});
}

function releaseGate(socket: Socket<undefined>): void {
  socket.timeout(ANSWER_TIMEOUT_SECONDS);
  socket.end(LIFTED);
}
