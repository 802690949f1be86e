// The agent's service account token, in a volume that no other container mounts: a worker with
// automountServiceAccountToken off must not get a token through injection. Pure.
import { AGENT } from "../../api/names.ts";
import { isObject, listAt, objectAt } from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";
import { podPath } from "./template.ts";
import type { Unsupported } from "./unsupported.ts";

/**
 * One day: the kubelet does not renew the token of a Pod that waits at the barrier, and a group may wait hours for its
 * last node. The token is bound to the Pod and ends with it. An API server may shorten it.
 */
const TOKEN_SECONDS = 86_400;

export function tokenVolume(): JsonObject {
  return {
    name: AGENT.tokenVolume,
    projected: {
      sources: [
        { serviceAccountToken: { path: "token", expirationSeconds: TOKEN_SECONDS } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
      ],
    },
  };
}

export function tokenMount(): JsonObject {
  return { name: AGENT.tokenVolume, mountPath: AGENT.tokenMountPath, readOnly: true };
}

export function checkVolumeName(podSpec: JsonObject, index: number): Unsupported | undefined {
  const volumes = listAt(podSpec, "volumes");
  const position = volumes.findIndex((volume) => isObject(volume) && volume["name"] === AGENT.tokenVolume);
  const volume = volumes[position];
  if (!isObject(volume) || objectAt(volume, "projected") !== undefined) return undefined;
  return {
    rule: "agent-name",
    path: `${podPath(index)}.volumes[${position}].name`,
    problem: `"${AGENT.tokenVolume}" is reserved for the agent's token volume`,
    fix: "rename your volume",
  };
}
