// Containers of the local cluster, seen from this machine: their processes are its processes.
import { readFileSync } from "node:fs";
import { allPids } from "./proc.ts";

/** SIGKILL to every process of a container, as the kernel sends it when memory runs out. `id` as in a Pod's status. */
export function killContainer(id: string): void {
  const pids = allPids().filter((pid) => isIn(pid, id));
  if (id === "" || pids.length === 0) throw new Error(`no process of container ${id} runs on this machine`);
  for (const pid of pids) process.kill(pid, "SIGKILL");
}

function isIn(pid: number, id: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, "utf8").includes(id);
  } catch {
    return false; // Ended meanwhile.
  }
}
