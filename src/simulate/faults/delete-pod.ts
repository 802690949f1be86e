// Faults that delete a Pod: by a user, by force, and by eviction.
import type { Cluster } from "../cluster.ts";
import type { PodDeletion } from "../nodes.ts";
import { always, type FaultDefinition, never, victim } from "./fault.ts";

export const deletePod: FaultDefinition = {
  text: "a user deletes a Pod",
  byRequest: true,
  mayCount: always,
  strike: (cluster) => remove(cluster, "is deleted", { disrupted: false, forced: false }),
};

export const forceDeletePod: FaultDefinition = {
  text: "a Pod's object vanishes at once",
  byRequest: true,
  mayCount: always,
  strike: (cluster) => remove(cluster, "is deleted by force", { disrupted: false, forced: true }),
};

export const evictPod: FaultDefinition = {
  text: "a Pod is evicted (a disruption)",
  byRequest: true,
  mayCount: never,
  strike: (cluster) => remove(cluster, "is evicted", { disrupted: true, forced: false }),
};

function remove(cluster: Cluster, what: string, how: PodDeletion): void {
  const pod = victim(cluster, () => true);
  const uid = pod === undefined ? undefined : cluster.nodes.uidOf(pod);
  if (pod === undefined || uid === undefined) return;
  cluster.world.tell(pod.name, what);
  cluster.nodes.delete(uid, how);
}
