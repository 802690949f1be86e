// Leaves the Service without losing a request. Readiness is already off when this begins.
//
// Three things can still bring a request: endpoints that other nodes have not updated yet, connections that a client keeps
// for its next call, and requests under way. HTTP/1.1 cannot tell a client to drop an idle connection, and closing one can
// cross a request that is being sent on it. So idle connections are never closed here: each ends with its next
// answer (`Connection: close`), or when the API server drops it after 90 s without use.
import { setTimeout as sleep } from "node:timers/promises";
import type { AdmissionServer } from "./server.ts";

export interface DrainTimes {
  /** Serve at least this long: time for the endpoint to leave every kube-proxy and API server. */
  readonly minMs: number;
  /** Leave at the latest after this, even if a client still holds a connection. */
  readonly maxMs: number;
}

/** How often open connections are counted; it only delays the exit, so it need not be fine. */
const COUNT_EVERY_MS = 100;

/** One count of zero may miss connections that the kernel has taken and this process has not accepted yet. */
const COUNTS_OF_ZERO = 2;

export async function drain(server: AdmissionServer, times: DrainTimes): Promise<void> {
  const began = performance.now();
  server.startDraining();
  await sleep(times.minMs);
  let zeros = 0;
  while (zeros < COUNTS_OF_ZERO && performance.now() - began < times.maxMs) {
    zeros = (await server.openConnections()) === 0 ? zeros + 1 : 0;
    await sleep(COUNT_EVERY_MS);
  }
  await server.close();
}
