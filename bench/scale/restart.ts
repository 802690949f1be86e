// What is measured on a side that runs: restarts of all its groups, and a time in which its Pods wait.
import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "../../test/cluster/proc.ts";
import { median } from "../quantile.ts";
import { cpuSeconds, peakMemory, read, type Usage, usage } from "./measure.ts";
import type { Plane } from "./plane.ts";
import { FOLLOWED } from "./side.ts";
import type { Size } from "./size.ts";

/** A group of this machine that is not back after so long never comes back. */
export const LIMIT_MS = { least: 120_000, perPod: 60 };

/** After the last report of a kubelet, until Jobs, JobSets and what people see have followed. */
const SETTLE_MS = 3_000;

/** The API server counts as quiet when it has used so little of a core in each of a few seconds. */
const QUIET = { seconds: 2, cpuShare: 0.15, limitMs: 30_000 };

const REPEAT_MS = 25_000;

export const WAIT_SECONDS = 60;

interface Restart extends Usage {
  /**
   * From the exit of the worker until the last agent has started, published its epoch, and lifted its barrier. Infinite
   * if that took too long.
   */
  readonly seconds: { readonly started: number; readonly published: number; readonly lifted: number };
}

export interface SideResult {
  /** How many restarts were measured, and their medians and means. */
  readonly restarts: number;
  readonly restart: Restart;
  /** MiB, by process. */
  readonly peak: Readonly<Record<string, number>>;
  /** Failures of agents' requests that were not refusals, to explain figures. */
  readonly errors: readonly string[];
}

/** Measures one restart or more, as long as there is time: small groups restart in seconds, and one says little. */
export async function measureRestarts(plane: Plane, size: Size, most: number): Promise<SideResult> {
  const restarts: Restart[] = [];
  const began = Date.now();
  while (restarts.length === 0 || (restarts.length < most && Date.now() - began < REPEAT_MS)) {
    await untilQuiet(plane);
    const restart = await restartOnce(plane, size);
    restarts.push(restart);
    const { started, published, lifted } = restart.seconds;
    console.log(
      `  ${plane.side}: last agent started after ${started.toFixed(2)} s, published after ${published.toFixed(2)} s, ` +
        `lifted after ${lifted.toFixed(2)} s; API server ${restart.cpu["kube-apiserver"]?.toFixed(2)} s of CPU`,
    );
  }
  const { errors } = await plane.fleet.traffic();
  const peak = Object.fromEntries(Object.entries(plane.pids()).map(([name, pid]) => [name, peakMemory(pid)]));
  return { restarts: restarts.length, restart: combine(restarts), peak, errors };
}

/** A new API server goes on working for a while, on discovery, schemas and the Pods' first start. */
export async function untilQuiet({ pids }: Plane): Promise<void> {
  const apiServer = pids()["kube-apiserver"] ?? 0;
  const limit = Date.now() + QUIET.limitMs;
  for (let quiet = 0; quiet < QUIET.seconds && Date.now() < limit; ) {
    const before = cpuSeconds(apiServer);
    await sleep(1_000);
    quiet = cpuSeconds(apiServer) - before <= QUIET.cpuShare ? quiet + 1 : 0;
  }
}

async function restartOnce(plane: Plane, { groups, pods }: Size): Promise<Restart> {
  const { fleet } = plane;
  const all = groups * pods;
  const limit = LIMIT_MS.least + all * LIMIT_MS.perPod;
  const before = await read(plane);
  const failedAt = await fleet.fail();
  const reached = async (what: "lifted" | "running") => {
    const isReached = async () => (await fleet.state())[what] === all;
    return await waitFor(`${all} Pods are ${what}`, limit, isReached).catch(() => false);
  };
  const isBack = (await reached("lifted")) && (await reached("running"));
  const { last } = await fleet.state();
  await sleep(SETTLE_MS);
  const used = usage(before, await read(plane));
  const since = (at: number) => (isBack ? (at - failedAt) / 1000 : Number.POSITIVE_INFINITY);
  const seconds = { started: since(last.started), published: since(last.published), lifted: since(last.lifted) };
  return { ...used, seconds };
}

/** The median time, and everything else per restart. */
export function combine(restarts: readonly Restart[]): Restart {
  const mean = (of: (restart: Restart) => number) =>
    restarts.reduce((sum, each) => sum + of(each), 0) / restarts.length;
  const names = Object.keys(restarts[0]?.cpu ?? {});
  const keys = new Set(restarts.flatMap(({ requests }) => [...requests.keys()]));
  const time = (of: (seconds: Restart["seconds"]) => number) => median(restarts.map(({ seconds }) => of(seconds)));
  return {
    seconds: {
      started: time(({ started }) => started),
      published: time(({ published }) => published),
      lifted: time(({ lifted }) => lifted),
    },
    cpu: Object.fromEntries(names.map((name) => [name, mean(({ cpu }) => cpu[name] ?? 0)])),
    requests: new Map([...keys].map((key) => [key, mean(({ requests }) => requests.get(key) ?? 0)])),
    refused: mean(({ refused }) => refused),
    watchBytes: mean(({ watchBytes }) => watchBytes),
    agentRequests: mean(({ agentRequests }) => agentRequests),
  };
}

/**
 * How many requests the API server counted from agents of Pods that wait at their barrier, because one Pod of their
 * group stays down. Kubelets write pods/status, so PATCHes and applies of Pods are the agents'.
 */
export async function requestsWhileWaiting(plane: Plane, { groups, pods }: Size): Promise<number> {
  const { fleet, side } = plane;
  const waiting = groups * (pods - 1);
  await fleet.fail(true);
  await waitFor(`${waiting} Pods wait`, LIMIT_MS.least, async () => (await fleet.state()).published === waiting);
  await sleep(SETTLE_MS);
  const before = await read(plane);
  await sleep(WAIT_SECONDS * 1000);
  const { requests } = usage(before, await read(plane));
  await fleet.release();
  const asked = [
    "PATCH pods",
    "APPLY pods",
    `GET ${FOLLOWED[side]}`,
    `LIST ${FOLLOWED[side]}`,
    `WATCH ${FOLLOWED[side]}`,
  ];
  return asked.reduce((sum, key) => sum + (requests.get(key) ?? 0), 0);
}
