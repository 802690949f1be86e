// The fields of a Node that decisions about lost nodes need: the controller keeps one of these per node of the cluster.
import { asList, asMap, asText } from "../json/fields.ts";
import { type Identity, readConditions, readIdentity } from "./metadata.ts";

/** Put on a node by the node lifecycle controller when its kubelet has been silent for too long. */
const UNREACHABLE_TAINT = "node.kubernetes.io/unreachable";

export interface Unreachable {
  /** RFC 3339; absent when neither the taint nor the node's condition says. */
  readonly since?: string;
}

export interface Node extends Identity {
  readonly unreachable?: Unreachable;
}

export function readNode(raw: unknown): Node {
  const unreachable = readUnreachable(raw);
  return { ...readIdentity(raw), ...(unreachable === undefined ? {} : { unreachable }) };
}

/** By the taint's key alone, as in KEP-6757: when all nodes are lost at once only its NoSchedule form remains. */
function readUnreachable(raw: unknown): Unreachable | undefined {
  const taints = asList(asMap(asMap(raw)["spec"])["taints"])
    .map(asMap)
    .filter((taint) => taint["key"] === UNREACHABLE_TAINT);
  if (taints.length === 0) return undefined;
  const added = taints.flatMap((taint) => asText(taint["timeAdded"]) ?? []);
  const ready = readConditions(asMap(asMap(raw)["status"])["conditions"]).find(({ type }) => type === "Ready");
  // Only the NoExecute taint carries a time. Both follow the moment at which Ready became Unknown.
  const since = added.sort().at(-1) ?? (ready?.status === "Unknown" ? ready.lastTransitionTime : undefined);
  return since === undefined ? {} : { since };
}
