// Containers of the local cluster, seen from this machine: their processes are its processes.
import { readFileSync } from "node:fs";
import { allPids } from "./proc.ts";

/**
 * SIGKILL to every process of these containers at once, as the kernel sends it when memory runs out. IDs as in a Pod's status,
 * without the runtime's prefix. A container without a process is an error: a test that kills nothing proves nothing.
 */
export function killContainers(...ids: readonly string[]): void {
  const processes = allPids().map((pid) => ({ pid, cgroup: cgroupOf(pid) }));
  const victims = ids.map((id) => processes.filter(({ cgroup }) => id !== "" && cgroup.includes(id)));
  if (victims.some((found) => found.length === 0)) throw new Error("a container that does not run cannot be killed");
  for (const { pid } of victims.flat()) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // Ended with its parent.
    }
  }
}

function cgroupOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, "utf8");
  } catch {
    return ""; // Ended meanwhile.
  }
}
