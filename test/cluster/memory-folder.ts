// Keeps a cluster's folder in memory. etcd and containerd sync to disk at every step of a restart. On the disk of a VM
// that takes longer than the rest of the restart, and the time varies between runs.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const GIB = 2 ** 30;

/** A cluster with one node needs half a gigabyte. A machine with less than this keeps the folder on disk. */
const LEAST_AVAILABLE = 6 * GIB;

/** The folder must exist and be empty. It may use half of the available memory, and takes only what it stores. */
export function keepInMemory(folder: string): void {
  const available = availableMemory();
  if (available < LEAST_AVAILABLE) return;
  mountCommand("mount", ["-t", "tmpfs", "-o", `size=${Math.floor(available / 2)},mode=711`, "reprise", folder]);
}

/** Drops the content of the folder. Does nothing for a folder on disk. */
export function releaseMemory(folder: string): void {
  // Lazily, because a process that is about to end may still have a file open.
  if (isMounted(folder)) mountCommand("umount", ["--lazy", folder]);
}

function isMounted(folder: string): boolean {
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  // The kernel escapes a space in a path this way.
  return mounts.some((line) => line.startsWith(`reprise ${folder.replaceAll(" ", "\\040")} tmpfs `));
}

function availableMemory(): number {
  const [, kibibytes = "0"] = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8")) ?? [];
  return Number(kibibytes) * 1024;
}

function mountCommand(command: "mount" | "umount", args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${stderr.trim()}`);
}
