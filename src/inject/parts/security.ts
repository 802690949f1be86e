// The security context of the agent. Pure. It meets the Pod security standard "restricted" on the container itself,
// except that it has a seccomp profile only if the Pod has one: setting one up costs 50 ms of CPU time twice in every
// recovery (agent and gate), and gains nothing while workers with the same service account run without. Where
// "restricted" is enforced, the Pod has a profile.

import { objectAt } from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";
import { userContainers } from "./user-containers.ts";

/** The user of the image. Set only where the agent would run as root: platforms with UID ranges reject fixed UIDs. */
const AGENT_UID = 65_532;

export function agentSecurityContext(runsAsRoot: boolean, confined: boolean): JsonObject {
  return {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    ...(runsAsRoot ? { runAsUser: AGENT_UID } : {}),
    ...(confined ? { seccompProfile: { type: "RuntimeDefault" } } : {}),
  };
}

/** Whether the Pod or one of its workers sets UID 0. */
export function runsAsRoot(podSpec: JsonObject, workers: readonly JsonObject[]): boolean {
  return [podSpec, ...workers].some((owner) => objectAt(owner, "securityContext")?.["runAsUser"] === 0);
}

/**
 * Whether the Pod or a container sets a seccomp profile. The agent never uses that one: it may be made for the worker.
 */
export function isConfined(podSpec: JsonObject): boolean {
  return [podSpec, ...userContainers(podSpec)].some((owner) => {
    const type = objectAt(objectAt(owner, "securityContext"), "seccompProfile")?.["type"];
    return type !== undefined && type !== "Unconfined";
  });
}
