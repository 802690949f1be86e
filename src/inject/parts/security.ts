// The security context of the agent: what Pod security "restricted" asks for, written out on the container, so that it
// holds in any Pod; a seccomp profile where the Pod has one. To set one up takes a process 50 ms of CPU time, two times in every
// recovery (agent and gate), and confines nothing where workers with the same account run without. Where "restricted" is enforced, they have one.

import { objectAt } from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";
import { usersContainers } from "./own-containers.ts";

/** The user of the image. Named only where the Pod would make the agent root: platforms with UID ranges refuse fixed ones. */
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

/** Whether the Pod, or one of these workers, asks to run as UID 0. */
export function runsAsRoot(podSpec: JsonObject, workers: readonly JsonObject[]): boolean {
  return [podSpec, ...workers].some((owner) => objectAt(owner, "securityContext")?.["runAsUser"] === 0);
}

/** Whether the Pod, or a container of it, has a seccomp profile. Its own may be made for the worker, so the agent never takes that one. */
export function isConfined(podSpec: JsonObject): boolean {
  return [podSpec, ...usersContainers(podSpec)].some((owner) => {
    const type = objectAt(objectAt(owner, "securityContext"), "seccompProfile")?.["type"];
    return type !== undefined && type !== "Unconfined";
  });
}
