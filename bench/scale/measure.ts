// Reads what a side has used so far, and the difference of two readings. CPU time and memory are the kernel's, counts
// of requests the API server's own.
import { readFileSync } from "node:fs";
import type { KubeClient } from "../../src/kube/client.ts";
import { difference, parsePage, type Samples, total } from "../scrape.ts";
import type { Traffic } from "./hollow-agent.ts";
import type { Plane } from "./plane.ts";

const REQUESTS = "apiserver_request_total";

export interface Reading {
  /** CPU seconds of each process. */
  readonly cpu: Readonly<Record<string, number>>;
  /** Counters of the API server. */
  readonly requests: Samples;
  readonly traffic: Traffic;
}

export async function read(plane: Plane): Promise<Reading> {
  const requests = parsePage(await metricsPage(plane.client), REQUESTS);
  const traffic = await plane.fleet.traffic();
  const cpu = Object.fromEntries(Object.entries(plane.pids()).map(([name, pid]) => [name, cpuSeconds(pid)]));
  return { cpu, requests, traffic };
}

export interface Usage {
  readonly cpu: Readonly<Record<string, number>>;
  /** By verb and resource, such as "PATCH pods/status". A watch counts when it ends. */
  readonly requests: ReadonlyMap<string, number>;
  /** Requests that the API server refused with 429. */
  readonly refused: number;
  /** What agents received on their watches, and how many requests they sent. */
  readonly watchBytes: number;
  readonly agentRequests: number;
}

export function usage(before: Reading, after: Reading): Usage {
  const grown = difference(before.requests, after.requests);
  return {
    cpu: Object.fromEntries(
      Object.entries(after.cpu).map(([name, seconds]) => [name, seconds - (before.cpu[name] ?? 0)]),
    ),
    requests: byVerbAndResource(grown),
    refused: total(grown, REQUESTS, { code: "429" }),
    watchBytes: after.traffic.watchBytes - before.traffic.watchBytes,
    agentRequests: after.traffic.requests - before.traffic.requests,
  };
}

/** Sums series of one verb and resource. Requests without a resource, such as /metrics, are left out. */
export function byVerbAndResource(samples: Samples): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [series, count] of samples) {
    const label = (name: string) => new RegExp(`[{,]${name}="([^"]*)"`).exec(series)?.[1] ?? "";
    if (label("resource") === "" || count === 0) continue;
    const subresource = label("subresource");
    const key = `${label("verb")} ${label("resource")}${subresource === "" ? "" : `/${subresource}`}`;
    sums.set(key, (sums.get(key) ?? 0) + count);
  }
  return sums;
}

/** The most memory that a process ever held, in MiB. */
export function peakMemory(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

/** Linux counts in hundredths of a second. */
export function cpuSeconds(pid: number): number {
  // After the command, which may contain spaces; utime and stime are fields 14 and 15 of the line.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function metricsPage(client: KubeClient): Promise<string> {
  const stream = await client.stream("/metrics");
  return (await stream.toArray()).join("");
}
