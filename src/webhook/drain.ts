// Takes a replica out of the Service without failing a request. Readiness is already off.
//
// Requests can still arrive for three reasons: nodes with stale endpoints, connections that a client keeps for its next
// call, and requests in flight. HTTP/1.1 cannot tell a client to drop an idle connection, and closing it may race with
// a request. So idle connections are never closed here: each ends with its next response (`Connection: close`), or when
// the API server closes it after 90 s without use.
import { type Clock, pause, systemClock } from "../kube/clock.ts";
import type { AdmissionServer } from "./server.ts";

export interface DrainTimes {
  /** Keep serving for at least this long, until every kube-proxy and API server has removed the endpoint. */
  readonly minMs: number;
  /** Stop after this long even if a client still holds a connection. */
  readonly maxMs: number;
}

/** How often open connections are counted. It only delays the exit. */
const COUNT_EVERY_MS = 100;

/** A single count of zero may miss connections that the kernel has accepted and this process has not. */
const ZERO_COUNTS = 2;

type DrainableServer = Pick<AdmissionServer, "startDraining" | "openConnections" | "close">;

export async function drain(server: DrainableServer, times: DrainTimes, clock: Clock = systemClock): Promise<void> {
  const began = clock.now();
  const { signal } = new AbortController();
  server.startDraining();
  await pause(clock, times.minMs, signal);
  let zeros = 0;
  while (zeros < ZERO_COUNTS && clock.now() - began < times.maxMs) {
    zeros = (await server.openConnections()) === 0 ? zeros + 1 : 0;
    await pause(clock, COUNT_EVERY_MS, signal);
  }
  await server.close();
}
