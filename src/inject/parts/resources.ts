// The agent's share of CPU and memory, chosen so that the Pod keeps its quality of service. Pure.

import { objectAt } from "../../json/edit.ts";
import { quantityValue } from "../../json/quantity.ts";
import type { JsonObject } from "../../json/types.ts";
import type { Inputs } from "../inputs.ts";
import type { InjectionSettings } from "../settings.ts";
import { usersContainers } from "./own-containers.ts";

/** The two resources that make a Pod's class. */
const COUNTED = ["cpu", "memory"] as const;

/**
 * `fixed`: requests equal limits, as in every container of a Guaranteed Pod, or it would lose its class and its pinned
 * CPUs. `flexible`: no CPU limit, because throttling would slow the agent's start, which is on the path of every recovery.
 * `none`: a Pod with resources of its own has its class from those alone, and its containers must fit into them.
 */
export type AgentShare = "fixed" | "flexible" | "none";

/** `chosen`: the user said how much the agent gets, so it gets something. */
export function agentShare(podSpec: JsonObject, chosen: boolean): AgentShare {
  if (hasPodResources(podSpec) && !chosen) return "none";
  return isGuaranteed(podSpec) ? "fixed" : "flexible";
}

/** What the user wrote comes before what is usual. */
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

/** As the kubelet sees it, without the agent: every container has limits for both, and requests that equal them. */
function isGuaranteed(podSpec: JsonObject): boolean {
  const others = usersContainers(podSpec);
  return others.length > 0 && others.every(hasEqualRequests);
}

function hasEqualRequests(container: JsonObject): boolean {
  const resources = objectAt(container, "resources");
  return COUNTED.every((name) => {
    const limit = amount(objectAt(resources, "limits"), name);
    // A request that is left out takes the value of its limit.
    const request = amount(objectAt(resources, "requests"), name) ?? limit;
    return limit !== undefined && request === limit;
  });
}

/** Zero counts as not given. */
function amount(amounts: JsonObject | undefined, name: string): bigint | undefined {
  const value = quantityValue(amounts?.[name]);
  return value === 0n ? undefined : value;
}
