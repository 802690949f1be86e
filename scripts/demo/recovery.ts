// The real part of the demo: the same plain JobSet in a namespace with the label and in one without, a worker killed in each,
// and the time until all workers run again.
import { readFileSync } from "node:fs";
import { styleText } from "node:util";
import type { Cluster } from "../../test/cluster/cluster.ts";
import { killContainers } from "../../test/cluster/container.ts";
import { waitFor } from "../../test/cluster/proc.ts";
import { createNamespace } from "../../test/reprise-programs.ts";

interface Worker {
  readonly pod: string;
  readonly uid: string;
  readonly container: string;
  readonly running: boolean;
}

export interface Recovery {
  readonly seconds: number;
  readonly newPods: number;
  readonly pods: number;
}

/** Kills one worker and waits until as many run again, none of them in the container it had before. */
export async function recover(cluster: Cluster, namespace: string, file: string): Promise<Recovery> {
  const { kubectl } = cluster;
  await kubectl(["apply", "-n", namespace, "-f", "-"], { input: readFileSync(file, "utf8") });
  const before = await waitFor(`the workers in ${namespace} run`, 120_000, async () => {
    const workers = await readWorkers(cluster, namespace);
    return workers.length === 4 && workers.every(({ running }) => running) && workers;
  });
  const [victim] = before;
  process.stdout.write(`  ${namespace}: four workers run; killing the one in ${victim?.pod} ...\n`);
  const began = performance.now();
  killContainers(victim?.container ?? "");
  const old = new Set(before.map(({ container }) => container));
  const after = await waitFor(`the workers in ${namespace} run again`, 120_000, async () => {
    const workers = await readWorkers(cluster, namespace);
    const back = workers.filter(({ running, container }) => running && !old.has(container));
    return back.length === before.length && back;
  });
  const seconds = (performance.now() - began) / 1000;
  const uids = new Set(before.map(({ uid }) => uid));
  return { seconds, pods: after.length, newPods: after.filter(({ uid }) => !uids.has(uid)).length };
}

export async function createNamespaces({ kubectl }: Cluster): Promise<void> {
  await createNamespace(kubectl, "with-reprise");
  await kubectl(["create", "namespace", "without-reprise"]);
}

/** Where the time went, as the controller recorded it. */
export async function showSteps({ kubectl }: Cluster, namespace: string): Promise<void> {
  const path = "jsonpath={.status.history[-1:]}";
  const record = JSON.parse(await kubectl(["get", "inplacerestart", "train", "-n", namespace, "-o", path])) as Steps;
  const steps: [string, string | undefined, string | undefined][] = [
    ["failure seen → every Pod told", record.failureSeen, record.deprecated],
    ["→ every Pod restarted", record.deprecated, record.allRestarted],
    ["→ barrier lifted", record.allRestarted, record.synced],
    ["→ every worker runs", record.synced, record.allRunning],
  ];
  for (const [name, from, to] of steps) {
    if (from === undefined || to === undefined) continue;
    const seconds = (Date.parse(to) - Date.parse(from)) / 1000;
    const bar = styleText("green", "█".repeat(Math.max(1, Math.round(seconds * 10))));
    process.stdout.write(`    ${name.padEnd(32)} ${seconds.toFixed(2).padStart(6)} s  ${bar}\n`);
  }
}

type Steps = Readonly<Partial<Record<"failureSeen" | "deprecated" | "allRestarted" | "synced" | "allRunning", string>>>;

async function readWorkers({ kubectl }: Cluster, namespace: string): Promise<Worker[]> {
  const { items } = JSON.parse(await kubectl(["get", "pods", "-n", namespace, "-o", "json"])) as PodList;
  return items.map(({ metadata, status }) => {
    const worker = status.containerStatuses?.find(({ name }) => name === "trainer");
    return {
      pod: metadata.name,
      uid: metadata.uid,
      container: worker?.containerID?.replace("containerd://", "") ?? "",
      running: worker?.state.running !== undefined && metadata.deletionTimestamp === undefined,
    };
  });
}

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
    readonly status: {
      readonly containerStatuses?: readonly {
        readonly name: string;
        readonly containerID?: string;
        readonly state: { readonly running?: object };
      }[];
    };
  }[];
}
