// Simulates a lost node. The kubelet is stopped, not ended, so that its containers keep running and it can come back.
import { readFileSync } from "node:fs";
import { asList, asMap } from "../../src/json/fields.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { waitFor } from "../cluster/proc.ts";

export function loseNode(cluster: Cluster, index: number): void {
  process.kill(cluster.program(`kubelet-${index}`).pid, "SIGSTOP");
}

/** Also wakes its parent, an nsenter that stops itself when its child is stopped. */
export function wakeNode(cluster: Cluster, index: number): void {
  const { pid } = cluster.program(`kubelet-${index}`);
  const parent = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  for (const each of [Number(parent), pid]) process.kill(each, "SIGCONT");
}

/** Waits until all nodes are reachable and without taints, because Pods spread only over such nodes. */
export async function nodesAreBack(client: KubeClient): Promise<void> {
  await waitFor("every node accepts Pods again", 60_000, async () => {
    const nodes = asList((await client.request("GET", "/api/v1/nodes"))["items"]);
    return nodes.every((node) => asList(asMap(asMap(node)["spec"])["taints"]).length === 0);
  });
}
