// A node that is lost: its kubelet is stopped, not ended, so that its containers run on and it can come back as it was.
import { readFileSync } from "node:fs";
import type { Cluster } from "../cluster/cluster.ts";

export function loseNode(cluster: Cluster, index: number): void {
  process.kill(cluster.program(`kubelet-${index}`).pid, "SIGSTOP");
}

/** With its parent, the nsenter that started it: that one stops itself when its child is stopped. */
export function wakeNode(cluster: Cluster, index: number): void {
  const { pid } = cluster.program(`kubelet-${index}`);
  const parent = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  for (const each of [Number(parent), pid]) process.kill(each, "SIGCONT");
}
