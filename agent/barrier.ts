// The barrier: the kubelet starts no worker before the agent's startup probe succeeds. A request is not refused while
// the barrier is down; it is held open and answered the moment the barrier lifts, so no probe period is lost.
import { createServer, request, type Server, type ServerResponse } from "node:http";
import { AGENT } from "../src/api/names.ts";
import type { Log } from "./log.ts";

type BarrierAddress = { readonly port: number } | { readonly path: string };

/** The port is perhaps still in use by something that is about to end. */
const LISTEN_AGAIN_MS = 500;

/**
 * A socket without a file, for Pods on the network of their node: nothing to mount, nothing left behind by a crash, and
 * the Pod's UID keeps the agents of one node apart. The name lives as long as the process that listens.
 */
export function socketOf(podUid: string): { readonly path: string } {
  return { path: `\0reprise-agent/${podUid}` };
}

export class Barrier {
  readonly #held = new Set<ServerResponse>();
  readonly #log: Log;
  readonly #server: Server;
  #lifted = false;

  constructor(log: Log) {
    this.#log = log;
    this.#server = createServer(({ url }, response) => {
      if (url !== AGENT.probePath) response.writeHead(404).end();
      else if (this.#lifted) response.writeHead(200).end();
      else this.#hold(response);
    });
  }

  /** Goes on trying for as long as the address is taken: an agent without a probe must not take its Pod down. */
  listen(address: BarrierAddress): void {
    let refused = "";
    this.#server.on("error", (error) => {
      if (error.message !== refused) this.#log.warn("cannot listen for the startup probe", { reason: error.message });
      refused = error.message;
      setTimeout(() => this.#server.listen(address), LISTEN_AGAIN_MS);
    });
    this.#server.on("listening", () => this.#log.info("listening for the startup probe", describe(address)));
    this.#server.listen(address);
  }

  lift(): void {
    this.#lifted = true;
    for (const response of this.#held) response.writeHead(200).end();
  }

  #hold(response: ServerResponse): void {
    this.#held.add(response);
    response.on("close", () => this.#held.delete(response));
  }
}

function describe(address: BarrierAddress) {
  return "port" in address ? { port: address.port } : { socket: address.path.replace("\0", "@") };
}

/** The exec form of the probe: resolves when the barrier lifts, and rejects when there is no agent or it ends. */
export function askBarrier(podUid: string): Promise<void> {
  const { path } = socketOf(podUid);
  return new Promise((resolve, reject) => {
    const asking = request({ socketPath: path, path: AGENT.probePath }, ({ statusCode }) => {
      if (statusCode === 200) resolve();
      else reject(new Error(`the agent answered ${statusCode}`));
    });
    asking.on("error", reject);
    asking.end();
  });
}
