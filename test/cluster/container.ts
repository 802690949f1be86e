// Containers of the local cluster as processes of this machine. IDs are those in a Pod's status, without the runtime's
// prefix.
import { readFileSync } from "node:fs";
import { allPids } from "./proc.ts";

/**
 * Sends SIGKILL to every process of these containers, as the kernel does when memory runs out. Throws for a container
 * without a process, because a test that kills nothing proves nothing.
 */
export function killContainers(...ids: readonly string[]): void {
  signalContainers("SIGKILL", ...ids);
}

/** The same with SIGSTOP: the processes hang, and end only when they are killed. */
export function hangContainers(...ids: readonly string[]): void {
  signalContainers("SIGSTOP", ...ids);
}

function signalContainers(signal: NodeJS.Signals, ...ids: readonly string[]): void {
  const victims = processesOf(...ids);
  if (victims.some((found) => found.length === 0))
    throw new Error(`a container that does not run cannot get ${signal}`);
  for (const pid of victims.flat()) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended with its parent.
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
    return ""; // The process has ended.
  }
}
