// The second part of the demo: the same plain JobSet in a namespace with the label and in one without. A worker is
// killed in each, and the recovery is shown live.
import { readFileSync } from "node:fs";
import { styleText } from "node:util";
import type { RestartSteps } from "../../src/api/in-place-restart.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import type { Cluster } from "../../test/cluster/cluster.ts";
import { createNamespace } from "../../test/reprise-programs.ts";
import { PodObserver, type Recovery } from "../recovery/observe.ts";
import { stepsOf } from "../recovery/steps.ts";
import { LEGEND, strip } from "./strips.ts";

export const WITH = "with-reprise";
export const WITHOUT = "without-reprise";

/** In examples/train.yaml. */
const PODS = 4;
const REDRAW_MS = 100;

export async function createNamespaces({ kubectl }: Cluster): Promise<void> {
  await createNamespace(kubectl, WITH);
  await kubectl(["create", "namespace", WITHOUT]);
}

export async function recover(
  { kubectl }: Cluster,
  client: KubeClient,
  namespace: string,
  file: string,
): Promise<Recovery> {
  await kubectl(["apply", "-n", namespace, "-f", "-"], { input: readFileSync(file, "utf8") });
  const observer = new PodObserver(client, namespace);
  observer.start();
  try {
    await observer.running(PODS);
    process.stdout.write(`  ${styleText("bold", namespace)}: four workers are running; one is killed.\n${LEGEND}\n`);
    const stopDrawing = drawLive(() => frameOf(observer.sinceKill()));
    let recovery: Recovery;
    try {
      recovery = await observer.killOne(PODS);
    } finally {
      stopDrawing();
    }
    const { seconds, newPods, lanes } = recovery;
    process.stdout.write(frameOf({ lanes, seconds }).join("\n"));
    process.stdout.write(`\n  recovered in ${seconds.toFixed(1)} s; ${newPods} of ${PODS} Pods are new\n`);
    return recovery;
  } finally {
    await observer.stop();
  }
}

function frameOf({ lanes, seconds }: Pick<Recovery, "lanes" | "seconds">): readonly string[] {
  return lanes.map((lane) => `    ${strip(lane, seconds)} ${seconds.toFixed(1)} s`);
}

/** Redraws a frame in place until stopped, which removes it. Draws nothing unless stdout is a terminal. */
function drawLive(frame: () => readonly string[]): () => void {
  if (!process.stdout.isTTY) return () => {};
  let height = 0;
  const clear = () => {
    if (height > 0) process.stdout.write(`\x1b[${height}A\x1b[J`);
    height = 0;
  };
  const timer = setInterval(() => {
    const lines = frame();
    clear();
    process.stdout.write(lines.map((line) => `${line}\n`).join(""));
    height = lines.length;
  }, REDRAW_MS);
  return () => {
    clearInterval(timer);
    clear();
  };
}

/** The steps of the restart, as recorded by the controller. */
export async function showSteps({ kubectl }: Cluster, namespace: string): Promise<void> {
  const path = "jsonpath={.status.history[-1:]}";
  const record = JSON.parse(
    await kubectl(["get", "inplacerestart", "train", "-n", namespace, "-o", path]),
  ) as RestartSteps;
  process.stdout.write("  Where the time went:\n");
  for (const { name, seconds } of stepsOf(record)) {
    if (Number.isNaN(seconds)) continue;
    const bar = styleText("green", "█".repeat(Math.max(1, Math.round(seconds * 10))));
    process.stdout.write(`    ${name.padEnd(34)} ${seconds.toFixed(2).padStart(6)} s  ${bar}\n`);
  }
}
