// The startup probe of the agent. The kubelet asks the agent, which keeps the request open and answers when the barrier
// lifts: at a port of the Pod or, where another program may use that port, with a second process at a socket. A port is
// better wherever it can be had: it costs no process. Pure.
import { AGENT, BARRIER_PATH, BARRIER_PORT_ENV, MAX_INT32 } from "../../api/names.ts";
import { isObject, listAt } from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";

/** The kubelet's shortest. It matters only for the first request: later ones are open when the barrier lifts. */
const PERIOD_SECONDS = 1;

/**
 * How long the kubelet keeps a request open. Each one that ends early is an Event of the Pod. TCP notices within
 * minutes if the connection is lost.
 */
const TIMEOUT_SECONDS = 3_600;

/**
 * The port of the agent in this Pod. Undefined with hostNetwork, where Pods share their ports, and if a container of
 * the Pod declares it: a container that another webhook puts before the agent may use it while the agent waits.
 */
export function barrierPort(podSpec: JsonObject, port: number | "none"): number | undefined {
  if (port === "none" || podSpec["hostNetwork"] === true) return undefined;
  const isTaken = ["initContainers", "containers"].some((key) =>
    listAt(podSpec, key).some((container) => isObject(container) && declares(container, port)),
  );
  return isTaken ? undefined : port;
}

function declares(container: JsonObject, port: number): boolean {
  return listAt(container, "ports").some((each) => isObject(each) && each["containerPort"] === port);
}

export function startupProbe(port: number | undefined): JsonObject {
  return {
    ...(port === undefined
      ? { exec: { command: [AGENT.binary, AGENT.probeCommand] } }
      : { httpGet: { path: BARRIER_PATH, port } }),
    periodSeconds: PERIOD_SECONDS,
    timeoutSeconds: TIMEOUT_SECONDS,
    // However long a group waits for a node, its agents must not be killed for it.
    failureThreshold: MAX_INT32,
  };
}

export function barrierPortEnv(port: number | undefined): JsonObject[] {
  return port === undefined ? [] : [{ name: BARRIER_PORT_ENV, value: String(port) }];
}
