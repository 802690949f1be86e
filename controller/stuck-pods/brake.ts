// Whether so many nodes are unreachable at once that the control plane itself is probably cut off. The Pods then run
// on, and deleting them by force would start every job of the cluster twice. Pure.

/** Two lost nodes of three are no sign of a partition: with so few nodes a share says nothing. */
const FEW = 2;

/**
 * The rule of the node lifecycle controller: all nodes, or more than two and at least this share. That controller
 * applies it to each zone and stops evictions when all zones are disrupted. Here it is applied to the whole cluster,
 * because a zone that is lost as a whole is a real loss.
 */
export function isBraked(unreachable: number, nodes: number, share: number): boolean {
  if (unreachable === 0) return false;
  return unreachable >= nodes || (unreachable > FEW && unreachable / nodes >= share);
}
