// Why an agent must stop holding the barrier and exit, from what the API server says about its Pod. Pure.

import { AGENT } from "../../src/api/names.ts";
import { asList, asMap, asText } from "../../src/json/fields.ts";

/**
 * Undefined while the Pod may wait. `startedAt` is the start of this agent, by the same node clock as the Pod's status.
 */
export function exitReason(pod: unknown, startedAt: number): string | undefined {
  // The kubelet reports whole seconds. Within the same second this may be a worker from before the restart whose status
  // is stale. A restart for it costs a second and no budget; a worker that bypassed the barrier must never be missed.
  const second = Math.floor(startedAt / 1000) * 1000;
  const { metadata, spec, status } = asMap(pod);
  // The kubelet cannot delete the Pod while its hook runs.
  if (asText(asMap(metadata)["deletionTimestamp"]) !== undefined) return "the Pod is being deleted";
  // Other admission webhooks may put containers before the agent. Those do not wait for the barrier.
  const initContainers = asList(asMap(spec)["initContainers"]).map((container) => asText(asMap(container)["name"]));
  const beforeBarrier = initContainers.slice(0, initContainers.indexOf(AGENT.container) + 1);
  const { initContainerStatuses, containerStatuses } = asMap(status);
  const early = [...asList(initContainerStatuses), ...asList(containerStatuses)].map(asMap).find(({ name, state }) => {
    const began = Date.parse(asText(asMap(asMap(state)["running"])["startedAt"]) ?? "");
    return !beforeBarrier.includes(asText(name)) && began >= second;
  });
  // After a restart of the kubelet or the container runtime, the hook does not run again.
  return early && `the container ${asText(early["name"])} did not wait for the barrier`;
}
