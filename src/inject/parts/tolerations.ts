// How long a Pod stays bound to a lost node (reprise.dev/node-loss-grace). Pure.

import { isObject, withList } from "../../json/edit.ts";
import type { Json, JsonObject } from "../../json/types.ts";

/** Kubernetes tolerates both for 300 s by default. */
const NODE_LOSS_TAINTS = ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"] as const;

export function nodeLossTolerations(seconds: number | undefined): JsonObject[] {
  if (seconds === undefined) return [];
  return NODE_LOSS_TAINTS.map((key) => ({
    key,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: seconds,
  }));
}

/** A toleration of the user for the same taint stays as it is. */
export function withTolerations(podSpec: JsonObject, tolerations: readonly JsonObject[]): JsonObject {
  return withList(podSpec, "tolerations", (written) => {
    const missing = tolerations.filter((wanted) => !written.some((present) => covers(present, wanted)));
    return missing.length === 0 ? written : [...written, ...missing];
  });
}

/** Without a key a toleration covers every taint, without an effect every effect of its key. */
function covers(present: Json, wanted: JsonObject): boolean {
  if (!isObject(present)) return false;
  const key = present["key"] ?? "";
  const effect = present["effect"] ?? "";
  return (key === "" || key === wanted["key"]) && (effect === "" || effect === wanted["effect"]);
}
