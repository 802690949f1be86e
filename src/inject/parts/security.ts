// The security context of the agent. Pure. It meets the Pod security standard "restricted" on the container itself,
// with two exceptions. It has a seccomp profile only if the Pod has one: setting one up costs 50 ms of CPU time in
// every recovery, and gains nothing while workers with the same service account run without. Where "restricted" is
// enforced, the Pod has a profile. And it runs as root where all workers do, which "restricted" forbids to them as well
// (docs/decisions/0015-user-of-the-agent.md).

import { MAX_INT32 } from "../../api/names.ts";
import { objectAt } from "../../json/edit.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import type { SharedMemory } from "./shared-memory.ts";
import { userContainers } from "./user-containers.ts";

/** The user of the image. Set only where the agent would run as root: platforms with UID ranges reject fixed UIDs. */
const IMAGE_UID = 65_532;

/** The UID to set on the agent. Undefined: that of the Pod or, without one, of the image. */
export type AgentUser = number | undefined;

export function agentSecurityContext(user: AgentUser, confined: boolean): JsonObject {
  return {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    readOnlyRootFilesystem: true,
    runAsNonRoot: user !== 0,
    ...(user === undefined ? {} : { runAsUser: user }),
    ...(confined ? { seccompProfile: { type: "RuntimeDefault" } } : {}),
  };
}

/**
 * The user of the workers if they share one that the JobSet names: only the owner of a file in shared memory can remove
 * it. Not where the agent has nothing to clear, nor where workers see the processes of other containers: a process of
 * the same user could read the agent's token there.
 */
export function agentUser(podSpec: JsonObject, workers: readonly JsonObject[], memory: SharedMemory): AgentUser {
  const ofPod = userOf(podSpec);
  const users = new Set(workers.map((worker) => userOf(worker) ?? ofPod));
  const [shared] = users;
  const isExposed = podSpec["shareProcessNamespace"] === true || podSpec["hostPID"] === true;
  if (users.size === 1 && isUid(shared) && memory !== "none" && !isExposed)
    return shared === ofPod && shared !== 0 ? undefined : shared;
  return ofPod === 0 || users.has(0) ? IMAGE_UID : undefined;
}

/** Kubernetes accepts no others. */
function isUid(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_INT32;
}

function userOf(owner: JsonObject): Json | undefined {
  return objectAt(owner, "securityContext")?.["runAsUser"];
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
