// The agent's security context: what Pod security "restricted" asks for, written out on the container, so that it holds
// in any Pod.
import type { JsonObject } from "../api/admission.ts";
import { objectAt } from "./json.ts";

/** The user of the image. Named only where the Pod would make the agent root: platforms with UID ranges refuse fixed ones. */
const AGENT_UID = 65_532;

export function agentSecurityContext(runsAsRoot: boolean): JsonObject {
  return {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    ...(runsAsRoot ? { runAsUser: AGENT_UID } : {}),
    seccompProfile: { type: "RuntimeDefault" },
  };
}

/** Whether the Pod, or one of these workers, asks to run as UID 0. */
export function runsAsRoot(podSpec: JsonObject, workers: readonly JsonObject[]): boolean {
  return [podSpec, ...workers].some((owner) => objectAt(owner, "securityContext")?.["runAsUser"] === 0);
}
