// Containers of the local cluster, seen from this machine: their processes are its processes. IDs are those of a Pod's status,
// without the runtime's prefix.
import { readFileSync } from "node:fs";
import { allPids } from "./proc.ts";

/**
 * SIGKILL to every process of these containers at once, as the kernel sends it when memory runs out. A container without a process is an error: a test that kills nothing proves nothing.
 */
export function killContainers(...ids: readonly string[]): void {
  const victims = processesOf(...ids);
  if (victims.some((found) => found.length === 0)) throw new Error("a container that does not run cannot be killed");
  for (const pid of victims.flat()) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // Ended with its parent.
    }
  }
}

/** The processes of each of these containers. */
export function processesOf(...ids: readonly string[]): number[][] {
  const processes = allPids().map((pid) => ({ pid, cgroup: cgroupOf(pid) }));
  return ids.map((id) => processes.filter(({ cgroup }) => id !== "" && cgroup.includes(id)).map(({ pid }) => pid));
}

function cgroupOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, "utf8");
  } catch {
    return ""; // Ended meanwhile.
  }
}
