// Which image the agent runs, and how the kubelet pulls it. Pure. The operator chooses in the config
// (`injection.agentImage`); an agent that was injected keeps its image until its JobSet is recreated
// (src/inject/stored).
import { isObject, withList } from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";
import type { InjectionSettings } from "../settings.ts";

export function agentImage({ agentImage, agentPullPolicy }: InjectionSettings): JsonObject {
  return { image: agentImage, imagePullPolicy: agentPullPolicy };
}

/** Adds the pull secrets that the Pod does not have yet. */
export function withPullSecrets(podSpec: JsonObject, pullSecrets: readonly string[]): JsonObject {
  return withList(podSpec, "imagePullSecrets", (written) => {
    const known = new Set(written.filter(isObject).map((secret) => secret["name"]));
    const missing = pullSecrets.filter((name) => !known.has(name));
    return missing.length === 0 ? written : [...written, ...missing.map((name) => ({ name }))];
  });
}
