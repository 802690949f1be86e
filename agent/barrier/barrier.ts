// The barrier, in two processes of one container: the agent holds it, and the gate, the container's postStart hook, ends when it
// lifts. The kubelet starts nothing else of the Pod before that hook ends. They meet at a socket that nobody outside the Pod can reach:
// no port, no volume.
import { connect, file, listen, type Socket } from "bun";
import { reasonOf } from "../../src/errors.ts";
import type { Log } from "../log.ts";
import { LIFTED, socketOf, WAIT_ON } from "./socket-name.ts";

const LISTEN_AGAIN_MS = 500;

/** For the gate to take the answer, which it does at once. */
const ANSWER_TAKEN_SECONDS = 10;

/**
 * A kubelet that dies between the start of the agent and that of its gate comes back and starts the workers without one; with the API server away
 * nothing else would end that. Not less, because on a node with too much to do a gate comes late, and a restart would add to that.
 */
const GATE_COMES_MS = 60_000;

interface BarrierOptions {
  /** Nothing holds back the workers any more: the gate ended before the barrier lifted, or none ever came. */
  readonly onGateLost: (how: "ended" | "never came") => void;
  readonly log: Log;
  readonly gateComesMs?: number;
}

export class Barrier {
  readonly #waiting = new Set<Socket<undefined>>();
  readonly #options: BarrierOptions;
  #lifted = false;
  #gateCame = false;

  constructor(options: BarrierOptions) {
    this.#options = options;
  }

  get isLifted(): boolean {
    return this.#lifted;
  }

  /** Goes on trying for as long as it fails: an agent without a barrier must not take its Pod down. */
  async listen(podUid: string, refused = ""): Promise<void> {
    const { log, gateComesMs = GATE_COMES_MS } = this.#options;
    const path = socketOf(podUid);
    try {
      // The agent before this one left its socket behind: whoever restarts a Pod does not ask its processes to tidy up.
      await removeSocket(podUid);
      listen<undefined>({
        unix: path,
        socket: {
          open: (socket) => this.#welcome(socket),
          // Whatever is said does not matter.
          data: () => {},
          close: (socket) => this.#left(socket),
          timeout: (socket) => socket.terminate(),
          // Whoever waits may go away at any time.
          error: (socket) => socket.terminate(),
        },
      });
      log.info("holding the barrier");
      setTimeout(() => this.#missGate(), gateComesMs);
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== refused) log.warn("cannot listen for the gate", { reason });
      setTimeout(() => void this.listen(podUid, reason), LISTEN_AGAIN_MS);
    }
  }

  /** Keeps the gate from giving up. */
  waitOn(): void {
    for (const socket of this.#waiting) socket.write(WAIT_ON);
  }

  lift(): void {
    this.#lifted = true;
    for (const socket of this.#waiting) letThrough(socket);
  }

  #welcome(socket: Socket<undefined>): void {
    this.#gateCame = true;
    if (this.#lifted) {
      letThrough(socket);
      return;
    }
    // A gate says nothing, and bun would end the connection after two minutes.
    socket.timeout(0);
    this.#waiting.add(socket);
  }

  #left(socket: Socket<undefined>): void {
    if (this.#waiting.delete(socket) && !this.#lifted) this.#options.onGateLost("ended");
  }

  #missGate(): void {
    if (!this.#gateCame && !this.#lifted) this.#options.onGateLost("never came");
  }
}

/** For an agent that ends: a Pod with `hostIPC` would leave the socket on its node. */
export async function removeSocket(podUid: string): Promise<void> {
  await file(socketOf(podUid))
    .delete()
    .catch(() => {});
}

function letThrough(socket: Socket<undefined>): void {
  socket.timeout(ANSWER_TAKEN_SECONDS);
  socket.end(LIFTED);
}

/** An agent held the barrier, and does so no more. */
export class AgentLost extends Error {}

/** Resolves when the barrier has lifted. Rejects when no agent holds it, or with AgentLost when it ends or is silent for too long. */
export function liftOf(podUid: string, patienceSeconds: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = "";
    const asked = connect<undefined>({
      unix: socketOf(podUid),
      socket: {
        open: (socket) => socket.timeout(patienceSeconds),
        data: (socket, piece) => {
          socket.timeout(patienceSeconds);
          said += Buffer.from(piece).toString("latin1");
          while (said.startsWith(WAIT_ON)) said = said.slice(WAIT_ON.length);
          if (said !== LIFTED) return;
          resolve();
          socket.terminate();
        },
        close: () => reject(new AgentLost("the agent ended before the barrier lifted")),
        timeout: (socket) => {
          reject(new AgentLost(`the agent has said nothing for ${patienceSeconds} s`));
          socket.terminate();
        },
        error: (_socket, error) => reject(error),
      },
    });
    asked.catch(() => reject(new Error("no agent holds the barrier")));
  });
}
