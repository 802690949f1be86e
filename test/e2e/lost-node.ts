// A node that is lost: its kubelet is stopped, not ended, so that its containers run on and it can come back as it was.
import { readFileSync } from "node:fs";
import { asList, asMap } from "../../src/json/fields.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { waitFor } from "../cluster/proc.ts";

export function loseNode(cluster: Cluster, index: number): void {
  process.kill(cluster.program(`kubelet-${index}`).pid, "SIGSTOP");
}

/** With its parent, the nsenter that started it: that one stops itself when its child is stopped. */
export function wakeNode(cluster: Cluster, index: number): void {
  const { pid } = cluster.program(`kubelet-${index}`);
  const parent = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  for (const each of [Number(parent), pid]) process.kill(each, "SIGCONT");
}

/** Reachable, and free of every taint that their absence brought: Pods are spread only over nodes without one. */
export async function nodesAreBack(client: KubeClient): Promise<void> {
  await waitFor("every node takes Pods again", 60_000, async () => {
    const nodes = asList((await client.request("GET", "/api/v1/nodes"))["items"]);
    return nodes.every((node) => asList(asMap(asMap(node)["spec"])["taints"]).length === 0);
  });
}
