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
 * `none`: the Pod has Pod-level resources, which alone decide its class and which its containers must fit into. Or its
 * containers request neither CPU nor memory: it is BestEffort, and a queue may have no quota for anything else.
 */
export type AgentShare = "fixed" | "flexible" | "none";

/** `chosen`: the user set resources for the agent, so it gets them in every Pod. */
export function agentShare(podSpec: JsonObject, chosen: boolean, usual: UsualResources): AgentShare {
  if (!chosen && (usual === "none" || hasAmounts(podSpec) || !userContainers(podSpec).some(hasAmounts))) return "none";
  return isGuaranteed(podSpec) ? "fixed" : "flexible";
}

type UsualResources = InjectionSettings["agentResources"];

/**
 * What the agent requests by default: only what another container requests too. A queue that has quota for memory and
 * devices need not have any for CPU.
 */
export function agentAmounts(podSpec: JsonObject, chosen: boolean): readonly Counted[] {
  return COUNTED.filter((name) => chosen || userContainers(podSpec).some((container) => hasAmount(container, name)));
}

type Counted = (typeof COUNTED)[number];

/** The annotations override the config. */
export function agentResources(
  share: AgentShare,
  amounts: readonly Counted[],
  usual: UsualResources,
  { agentCpu, agentMemory }: Pick<Inputs, "agentCpu" | "agentMemory">,
): JsonObject | undefined {
  if (share === "none") return undefined;
  const { cpu, guaranteedCpu, memory } = usual === "none" ? NO_AMOUNTS : usual;
  const usualCpu = share === "fixed" ? guaranteedCpu : cpu;
  const ofCpu = amountOf("cpu", agentCpu ?? (amounts.includes("cpu") ? usualCpu : undefined));
  const ofMemory = amountOf("memory", agentMemory ?? (amounts.includes("memory") ? memory : undefined));
  const requests = { ...ofCpu, ...ofMemory };
  const limits = share === "fixed" ? requests : ofMemory;
  return Object.keys(limits).length === 0 ? { requests } : { requests, limits };
}

const NO_AMOUNTS = { cpu: undefined, guaranteedCpu: undefined, memory: undefined };

function amountOf(name: string, quantity: string | undefined): JsonObject {
  return quantity === undefined ? {} : { [name]: quantity };
}

/** Whether a container, or the Pod as a whole, requests or limits CPU or memory. */
function hasAmounts(holder: JsonObject): boolean {
  return COUNTED.some((name) => hasAmount(holder, name));
}

function hasAmount(holder: JsonObject, name: Counted): boolean {
  const resources = objectAt(holder, "resources");
  return ["requests", "limits"].some((kind) => amount(objectAt(resources, kind), name) !== undefined);
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
