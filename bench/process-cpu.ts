// The CPU time of a program that a benchmark has started, as the kernel counts it.
import { readdirSync, readFileSync } from "node:fs";

/** The PID of the process with a file of this folder on its command line. */
export function pidOf(folder: string): number {
  const found = readdirSync("/proc").find((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    try {
      return readFileSync(`/proc/${entry}/cmdline`, "utf8").includes(`=${folder}/`);
    } catch {
      return false; // It has ended since.
    }
  });
  if (found === undefined) throw new Error(`no process was started with a file of ${folder}`);
  return Number(found);
}

/** CPU time of all threads of a process so far, from the kernel's scheduler. */
export function cpuMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = threads.map((thread) => {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ", 1)[0]);
  });
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e6;
}
