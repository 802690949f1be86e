// A cluster's folder in memory. etcd and containerd wait for the disk at every step of a restart; on the disk of a virtual machine
// that takes longer than all the rest, and no two runs take the same time.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const GIB = 2 ** 30;

/** A cluster of one node takes half of one. On a machine with less than this, the disk will have to do. */
const LEAST_AVAILABLE = 6 * GIB;

/** The folder exists and is empty. It may use half of what is available; what it does not use costs nothing. */
export function keepInMemory(folder: string): void {
  const available = availableMemory();
  if (available < LEAST_AVAILABLE) return;
  mountCommand("mount", ["-t", "tmpfs", "-o", `size=${Math.floor(available / 2)},mode=711`, "reprise", folder]);
}

/** All that is in it is gone. Does nothing where the folder is on the disk. */
export function releaseMemory(folder: string): void {
  // Lazily: a process that is about to end may still have a file of it open.
  if (isMounted(folder)) mountCommand("umount", ["--lazy", folder]);
}

function isMounted(folder: string): boolean {
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  // The kernel writes a space in a path like that.
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
