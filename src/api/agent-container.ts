// Whether a Pod template carries an injected agent. Pure. Injection, validation and the controller must agree on it:
// a Pod that one of them expects at the barrier and another does not would block the whole group.
import { asList, asMap } from "../json/fields.ts";
import { AGENT } from "./names.ts";

export function hasAgent(podSpec: unknown): boolean {
  return asList(asMap(podSpec)["initContainers"]).some(isAgentContainer);
}

/** The name alone is not enough: a user's own container may have it. Only injection mounts the token volume. */
export function isAgentContainer(initContainer: unknown): boolean {
  return asMap(initContainer)["name"] === AGENT.container && mountsAgentToken(initContainer);
}

export function mountsAgentToken(container: unknown): boolean {
  return asList(asMap(container)["volumeMounts"]).some((mount) => asMap(mount)["name"] === AGENT.tokenVolume);
}
