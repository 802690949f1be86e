// Whether so many nodes are unreachable at once that it is the control plane which is cut off from them. Then their Pods run
// on, and freeing them would start every job of the cluster twice. Pure.

/** Two lost nodes of three are bad luck, not a partition: the share of so few says nothing. */
const FEW = 2;

/**
 * The node lifecycle controller's rule: all nodes, or more than two and at least this share. It judges each zone and stops evicting
 * when all zones are lost; here it is one count over the cluster, because a zone that is lost as a whole is a real loss.
 */
export function isBraked(unreachable: number, nodes: number, share: number): boolean {
  if (unreachable === 0) return false;
  return unreachable >= nodes || (unreachable > FEW && unreachable / nodes >= share);
}
