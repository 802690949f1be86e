// The memory that a process holds, as the kernel counts it.
import { readFileSync } from "node:fs";

/** MiB. */
export interface Memory {
  readonly rss: number;
  /** Private memory. The rest is executable pages, which the agents of a node share. */
  readonly own: number;
}

export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mebibytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
  return { rss: mebibytes("VmRSS"), own: mebibytes("RssAnon") };
}
