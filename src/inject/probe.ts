// The startup probe of the agent, which is the barrier: the kubelet starts no worker before it succeeds.
import type { JsonObject } from "../api/admission.ts";
import { AGENT, MAX_INT32 } from "../api/names.ts";

/**
 * The agent holds the request open and answers when the barrier lifts. Ten minutes per request keep idle traffic near
 * zero; after a timeout the kubelet asks again, for ever: waiting for nodes must never kill the agent.
 */
const HELD = { periodSeconds: 1, timeoutSeconds: 600, failureThreshold: MAX_INT32 } as const;

/** Under hostNetwork a port could collide with one of the node, so the probe is a process in the container. */
export function startupProbe(hostNetwork: boolean, port: number): JsonObject {
  return hostNetwork
    ? { exec: { command: [AGENT.binary, "probe"] }, ...HELD }
    : { httpGet: { path: AGENT.probePath, port }, ...HELD };
}
