// The CPU and memory of the agent, chosen so that the Pod keeps its QoS class. Pure.

import { objectAt } from "../../json/edit.ts";
import { quantityValue } from "../../json/quantity.ts";
import type { JsonObject } from "../../json/types.ts";
import type { Inputs } from "../inputs.ts";
import type { InjectionSettings } from "../settings.ts";
import { userContainers } from "./user-containers.ts";

/** The resources that decide the QoS class. */
const COUNTED = ["cpu", "memory"] as const;

/**
 * `fixed`: requests equal limits. Required in a Guaranteed Pod, which would otherwise lose its class and pinned CPUs.
 * `flexible`: no CPU limit. Throttling would slow down the agent's start, which is part of every recovery.
 * `none`: the Pod has Pod-level resources. They alone decide its class, and its containers must fit into them.
 */
export type AgentShare = "fixed" | "flexible" | "none";

/** `chosen`: the user set resources for the agent, so it gets them even in a Pod with Pod-level resources. */
export function agentShare(podSpec: JsonObject, chosen: boolean): AgentShare {
  if (hasPodResources(podSpec) && !chosen) return "none";
  return isGuaranteed(podSpec) ? "fixed" : "flexible";
}

/** The annotations override the config. */
export function agentResources(
  share: AgentShare,
  usual: InjectionSettings["agentResources"],
  { agentCpu, agentMemory: memory = usual.memory }: Pick<Inputs, "agentCpu" | "agentMemory">,
): JsonObject | undefined {
  if (share === "none") return undefined;
  if (share === "flexible") return { requests: { cpu: agentCpu ?? usual.cpu, memory }, limits: { memory } };
  const both = { cpu: agentCpu ?? usual.guaranteedCpu, memory };
  return { requests: both, limits: both };
}

function hasPodResources(podSpec: JsonObject): boolean {
  const resources = objectAt(podSpec, "resources");
  return [objectAt(resources, "requests"), objectAt(resources, "limits")].some((amounts) =>
    COUNTED.some((name) => amount(amounts, name) !== undefined),
  );
}

/** As the kubelet decides, without the agent: every container has equal requests and limits for both resources. */
function isGuaranteed(podSpec: JsonObject): boolean {
  const others = userContainers(podSpec);
  return others.length > 0 && others.every(hasEqualRequests);
}

function hasEqualRequests(container: JsonObject): boolean {
  const resources = objectAt(container, "resources");
  return COUNTED.every((name) => {
    const limit = amount(objectAt(resources, "limits"), name);
    // A missing request defaults to the limit.
    const request = amount(objectAt(resources, "requests"), name) ?? limit;
    return limit !== undefined && request === limit;
  });
}

/** Zero counts as not set. */
function amount(amounts: JsonObject | undefined, name: string): bigint | undefined {
  const value = quantityValue(amounts?.[name]);
  return value === 0n ? undefined : value;
}
