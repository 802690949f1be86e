// Which containers of a Pod are injected, and which are its user's. Pure.

import { AGENT } from "../../api/names.ts";
import { isObject, listAt } from "../../json/edit.ts";
import type { Json, JsonObject } from "../../json/types.ts";

export function isOurName(name: Json | undefined): boolean {
  return name === AGENT.container;
}

/** Everything else that runs in the Pod. */
export function usersContainers(podSpec: JsonObject): JsonObject[] {
  const containers = [...listAt(podSpec, "initContainers"), ...listAt(podSpec, "containers")].filter(isObject);
  return containers.filter(({ name }) => !isOurName(name));
}
