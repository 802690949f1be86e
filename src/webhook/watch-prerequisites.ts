// Tracks what the webhook's cluster lacks. A webhook without a cluster (a test, a demo) works without it, and one whose
// API server is slow does not wait for long: serving comes first.
import { setTimeout as sleep } from "node:timers/promises";
import type { Lack } from "../api/prerequisites.ts";
import { connect, type KubeClient } from "../kube/client.ts";
import type { KubeConfigSource } from "../kube/kubeconfig.ts";
import { Prerequisites } from "../kube/prerequisites.ts";
import type { Logger } from "../telemetry/log.ts";

/** Two short requests take milliseconds. A replica that starts during an outage is needed before the outage ends. */
const STARTUP_TIMEOUT_MS = 3_000;

export interface PrerequisiteWatch {
  /** What is missing, as far as is known. */
  readonly lacks: readonly Lack[];
  stop(): Promise<void>;
}

export async function watchPrerequisites(source: KubeConfigSource, log: Logger): Promise<PrerequisiteWatch> {
  let client: KubeClient;
  try {
    client = connect(source);
  } catch (error) {
    log.warn({ err: error }, "no cluster to check, assuming that it supports in-place restarts");
    return { lacks: [], stop: async () => {} };
  }
  const prerequisites = new Prerequisites({ client, log });
  await Promise.race([prerequisites.start(), sleep(STARTUP_TIMEOUT_MS, undefined, { ref: false })]);
  return {
    get lacks() {
      return prerequisites.lacks;
    },
    async stop() {
      prerequisites.stop();
      await client.close();
    },
  };
}
