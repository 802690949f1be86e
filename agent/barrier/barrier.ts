// The agent's side of the barrier, and the place where it is lifted. The kubelet starts no other container before the
// startup probe of the agent has succeeded. The agent keeps the probe's request open and answers the moment the barrier
// lifts. A request that ends early means nothing: the kubelet sends the next one.
import { file, listen, type Socket } from "bun";
import { BARRIER_PATH, PROGRESS_PATH } from "../../src/api/names.ts";
import { reasonOf } from "../../src/errors.ts";
import type { Log } from "../log.ts";
import { socketPath } from "./agent-files.ts";

/** Where the kubelet asks: a port of the Pod, or without one the socket of `reprise-agent probe`. */
export type BarrierAddress = { readonly port: number } | { readonly podUid: string };

export const LIFTED = "HTTP/1.1 200 OK";
const NO_CONTENT = "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const NOT_FOUND = "HTTP/1.1 404 Not Found";

/** Delay before another attempt to listen. */
const LISTEN_RETRY_MS = 500;

/** Time for the kubelet to read the answer, which takes milliseconds. */
const ANSWER_TIMEOUT_SECONDS = 10;

/** The kubelet asks once at a time. More connections are not the kubelet's, and the oldest one is dropped. */
const MOST_CONNECTIONS = 16;

/** Longer than the first line of the kubelet's request. */
const MOST_REQUEST_BYTES = 512;

/** What was received so far, until the first line of the request is complete. */
type Asking = Socket<string>;

export class Barrier {
  readonly #log: Log;
  readonly #progress: () => string | undefined;
  readonly #open = new Set<Asking>();
  readonly #waiting = new Set<Asking>();
  #lifted = false;

  /** `progress`: what is known about the worker, as one line of JSON. */
  constructor(log: Log, progress: () => string | undefined = () => undefined) {
    this.#log = log;
    this.#progress = progress;
  }

  /** Retries until it listens: an agent that the kubelet cannot ask must not take its Pod down. */
  async listen(address: BarrierAddress, lastReason = ""): Promise<void> {
    try {
      if ("port" in address) this.#listenAt(address.port);
      else {
        // The previous agent left its socket behind: a restart in place kills processes without cleanup.
        await removeSocket(address.podUid);
        listen({ unix: socketPath(address.podUid), socket: this.#handlers });
      }
      this.#log.info("holding the barrier");
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== lastReason)
        this.#log.warn("cannot listen for the startup probe, retrying; see injection.agentPort", { reason });
      setTimeout(() => void this.listen(address, reason), LISTEN_RETRY_MS);
    }
  }

  lift(): void {
    this.#lifted = true;
    for (const socket of this.#waiting) answer(socket, LIFTED);
    this.#waiting.clear();
  }

  /** On every address of the Pod. Where the kernel has no IPv6, on IPv4 only. */
  #listenAt(port: number): void {
    try {
      listen({ hostname: "::", port, socket: this.#handlers });
    } catch {
      listen({ hostname: "0.0.0.0", port, socket: this.#handlers });
    }
  }

  get #handlers() {
    return {
      open: (socket: Asking) => this.#onOpen(socket),
      data: (socket: Asking, piece: Uint8Array) => this.#onData(socket, piece),
      close: (socket: Asking) => {
        this.#open.delete(socket);
        this.#waiting.delete(socket);
      },
      timeout: (socket: Asking) => socket.terminate(),
      // The kubelet may disconnect at any time.
      error: (socket: Asking) => socket.terminate(),
    };
  }

  #onOpen(socket: Asking): void {
    socket.data = "";
    // A waiting request is silent, and bun closes silent connections after two minutes.
    socket.timeout(0);
    this.#open.add(socket);
    const [oldest] = this.#open;
    if (this.#open.size > MOST_CONNECTIONS) oldest?.terminate();
  }

  #onData(socket: Asking, piece: Uint8Array): void {
    if (this.#waiting.has(socket)) return;
    socket.data += Buffer.from(piece).toString("latin1");
    const end = socket.data.indexOf("\r\n");
    if (end === -1 && socket.data.length < MOST_REQUEST_BYTES) return;
    if (socket.data.startsWith(`GET ${PROGRESS_PATH} `)) this.#tell(socket);
    else if (!socket.data.startsWith(`GET ${BARRIER_PATH} `)) answer(socket, NOT_FOUND);
    else if (this.#lifted) answer(socket, LIFTED);
    else this.#waiting.add(socket);
  }

  #tell(socket: Asking): void {
    const progress = this.#progress();
    if (progress === undefined) answer(socket, NOT_FOUND);
    else answer(socket, LIFTED, `\r\nConnection: close\r\nContent-Type: application/json${lengthOf(progress)}`);
  }
}

function lengthOf(body: string): string {
  return `\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** For cleanup at exit: a Pod with `hostIPC` would leave the socket on its node. */
export async function removeSocket(podUid: string): Promise<void> {
  await file(socketPath(podUid))
    .delete()
    .catch(() => {});
}

function answer(socket: Asking, status: string, rest = NO_CONTENT): void {
  socket.timeout(ANSWER_TIMEOUT_SECONDS);
  socket.end(`${status}${rest}`);
}
