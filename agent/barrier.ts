// The barrier: the kubelet starts no worker before the agent's startup probe succeeds. A request is not refused while
// the barrier is down; it is held open and answered the moment the barrier lifts, so no probe period is lost.
//
// The probe's few lines of HTTP are spoken over plain sockets: a kubelet that asks before the port is open waits a second
// until it asks again, and an HTTP server takes twice as long to open it (docs/performance.md).
import { connect, createServer, type Server, type Socket } from "node:net";
import { AGENT } from "../src/api/names.ts";
import type { Log } from "./log.ts";

type BarrierAddress = { readonly port: number } | { readonly path: string };

/** The port is perhaps still in use by something that is about to end. */
const LISTEN_AGAIN_MS = 500;

/** Longest request line that is read; the kubelet's is far shorter. */
const LINE_LIMIT = 1_024;

const ASK = `GET ${AGENT.probePath} HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n`;
const LIFTED = answer("200 OK");
const NOT_FOUND = answer("404 Not Found");

/**
 * A socket without a file, for Pods on the network of their node: nothing to mount, nothing left behind by a crash, and
 * the Pod's UID keeps the agents of one node apart. The name lives as long as the process that listens.
 */
export function socketOf(podUid: string): { readonly path: string } {
  return { path: `\0reprise-agent/${podUid}` };
}

export class Barrier {
  readonly #held = new Set<Socket>();
  readonly #log: Log;
  readonly #server: Server;
  #lifted = false;

  constructor(log: Log) {
    this.#log = log;
    this.#server = createServer((socket) => {
      // Whoever asks may go away at any time.
      socket.on("error", () => socket.destroy());
      socket.on("close", () => this.#held.delete(socket));
      firstLine(socket, (line) => {
        if (line.split(" ")[1] !== AGENT.probePath) socket.end(NOT_FOUND);
        else if (this.#lifted) socket.end(LIFTED);
        else this.#held.add(socket);
      });
    });
  }

  /**
   * Goes on trying for as long as the address is taken: an agent without a probe must not take its Pod down. Resolves when
   * it has tried once.
   */
  listen(address: BarrierAddress): Promise<void> {
    let refused = "";
    this.#server.on("error", (error) => {
      if (error.message !== refused) this.#log.warn("cannot listen for the startup probe", { reason: error.message });
      refused = error.message;
      setTimeout(() => this.#server.listen(address), LISTEN_AGAIN_MS);
    });
    this.#server.on("listening", () => this.#log.info("listening for the startup probe", describe(address)));
    return new Promise((resolve) => {
      this.#server.once("error", () => resolve());
      this.#server.once("listening", resolve);
      this.#server.listen(address);
    });
  }

  lift(): void {
    this.#lifted = true;
    for (const socket of this.#held) socket.end(LIFTED);
  }
}

/** Once, with the first line that comes through the socket. What follows it does not matter. */
function firstLine(socket: Socket, use: (line: string) => void): void {
  let text = "";
  const read = (piece: Buffer) => {
    text += piece.toString("latin1");
    const end = text.indexOf("\r\n");
    if (end === -1 && text.length <= LINE_LIMIT) return;
    socket.off("data", read);
    // Nobody reads the rest, and a socket that is not read does not notice that its other end is gone.
    socket.resume();
    use(text.slice(0, Math.max(end, 0)));
  };
  socket.on("data", read);
}

function answer(status: string): string {
  return `HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
}

function describe(address: BarrierAddress) {
  return "port" in address ? { port: address.port } : { socket: address.path.replace("\0", "@") };
}

/** The exec form of the probe: resolves when the barrier lifts, and rejects when there is no agent or it ends. */
export function askBarrier(podUid: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketOf(podUid), () => socket.write(ASK));
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the agent ended the connection")));
    firstLine(socket, (line) => {
      socket.destroy();
      if (line.split(" ")[1] === "200") resolve();
      else reject(new Error(`the agent answered ${JSON.stringify(line)}`));
    });
  });
}
