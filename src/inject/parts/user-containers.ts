// Tells the user's containers of a Pod from the injected agent. Pure.

import { AGENT } from "../../api/names.ts";
import { isObject, listAt } from "../../json/edit.ts";
import type { Json, JsonObject } from "../../json/types.ts";

export function isAgentName(name: Json | undefined): boolean {
  return name === AGENT.container;
}

/** Every container of the Pod except the agent. */
export function userContainers(podSpec: JsonObject): JsonObject[] {
  const containers = [...listAt(podSpec, "initContainers"), ...listAt(podSpec, "containers")].filter(isObject);
  return containers.filter(({ name }) => !isAgentName(name));
}
