// Whether a Pod template carries an injected agent. Pure. Injection, validation and the controller must agree on it:
// a Pod that one of them expects at the barrier and another does not would block the whole group.
import { asList, asMap, asText } from "../json/fields.ts";
import { AGENT, AGENT_ENV } from "./names.ts";

export function hasAgent(podSpec: unknown): boolean {
  return asList(asMap(podSpec)["initContainers"]).some(isAgentContainer);
}

/** The name alone is not enough: a user's own container may have it. Only injection mounts the token volume. */
export function isAgentContainer(initContainer: unknown): boolean {
  return asMap(initContainer)["name"] === AGENT.container && mountsAgentToken(initContainer);
}

/** The exit code of an agent that was told to restart its Pod. */
export function restartExitCodeOf(podSpec: unknown): number | undefined {
  const agent = asMap(asList(asMap(podSpec)["initContainers"]).find(isAgentContainer));
  const variable = asList(agent["env"]).find((each) => asMap(each)["name"] === AGENT_ENV.restartExitCode);
  const text = asText(asMap(variable)["value"]) ?? "";
  return /^\d{1,3}$/.test(text) ? Number(text) : undefined;
}

export function mountsAgentToken(container: unknown): boolean {
  return asList(asMap(container)["volumeMounts"]).some((mount) => asMap(mount)["name"] === AGENT.tokenVolume);
}
