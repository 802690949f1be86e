// Why an agent must not go on holding the barrier, from what the API server says of its Pod. Pure.

import { AGENT } from "../../src/api/names.ts";
import { asList, asMap, asText } from "../../src/json/fields.ts";

/** Undefined while it may go on. `startedAt` is when this agent started, by the clock of its node, as everything in the Pod's status. */
export function reasonToEnd(pod: unknown, startedAt: number): string | undefined {
  // The kubelet reports whole seconds. In the same second it may also be a worker from before the restart, which the kubelet has not taken back
  // yet; to start anew for it costs a second and no restart, and a worker that did not wait must never be missed.
  const second = Math.floor(startedAt / 1000) * 1000;
  const { metadata, spec, status } = asMap(pod);
  // The kubelet cannot end the Pod while it waits for the barrier.
  if (asText(asMap(metadata)["deletionTimestamp"]) !== undefined) return "the Pod is being deleted";
  // Webhooks for Pods may put containers in front of the agent, which wait for nothing.
  const initContainers = asList(asMap(spec)["initContainers"]).map((container) => asText(asMap(container)["name"]));
  const excused = initContainers.slice(0, initContainers.indexOf(AGENT.container) + 1);
  const { initContainerStatuses, containerStatuses } = asMap(status);
  const early = [...asList(initContainerStatuses), ...asList(containerStatuses)].map(asMap).find(({ name, state }) => {
    const began = Date.parse(asText(asMap(asMap(state)["running"])["startedAt"]) ?? "");
    return !excused.includes(asText(name)) && began >= second;
  });
  // A kubelet or a container runtime that was restarted does not run the hook again.
  return early && `the container ${asText(early["name"])} did not wait for the barrier`;
}
