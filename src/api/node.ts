// The fields of a Node that decide whether it is lost. Pure. The controller caches one of these per node.
import { asList, asMap, asText } from "../json/fields.ts";
import { type Identity, readConditions, readIdentity } from "./metadata.ts";

/** The node lifecycle controller adds it when the kubelet stops reporting. */
const UNREACHABLE_TAINT = "node.kubernetes.io/unreachable";

export interface Unreachable {
  /** RFC 3339. Absent if neither the taint nor the condition has a time. */
  readonly since?: string;
}

export interface Node extends Identity {
  readonly unreachable?: Unreachable;
}

export function readNode(raw: unknown): Node {
  const unreachable = readUnreachable(raw);
  return { ...readIdentity(raw), ...(unreachable === undefined ? {} : { unreachable }) };
}

/**
 * Only the key of the taint counts, as in KEP-6757: if all nodes are lost at once, only the NoSchedule taint remains.
 */
function readUnreachable(raw: unknown): Unreachable | undefined {
  const taints = asList(asMap(asMap(raw)["spec"])["taints"])
    .map(asMap)
    .filter((taint) => taint["key"] === UNREACHABLE_TAINT);
  if (taints.length === 0) return undefined;
  const added = taints.flatMap((taint) => asText(taint["timeAdded"]) ?? []);
  const ready = readConditions(asMap(asMap(raw)["status"])["conditions"]).find(({ type }) => type === "Ready");
  // Only the NoExecute taint has a time. Both taints follow the moment at which Ready became Unknown.
  const since = added.sort().at(-1) ?? (ready?.status === "Unknown" ? ready.lastTransitionTime : undefined);
  return since === undefined ? {} : { since };
}
