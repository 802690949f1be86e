// Asks the cluster that the webhook serves what it is able to do. A webhook without a cluster to ask (a test, a demo) works without
// an answer, and one whose API server is slow does not wait for it: serving comes first.
import { setTimeout as sleep } from "node:timers/promises";
import type { Lack } from "../api/prerequisites.ts";
import { connect, type KubeClient } from "../kube/client.ts";
import type { KubeConfigSource } from "../kube/kubeconfig.ts";
import { Prerequisites } from "../kube/prerequisites.ts";
import type { Logger } from "../telemetry/log.ts";

/** Two short requests take milliseconds; a replica that starts during an outage is needed before its end. */
const PATIENCE_MS = 3_000;

export interface PrerequisiteWatch {
  /** As far as is known. */
  readonly lacks: readonly Lack[];
  stop(): Promise<void>;
}

export async function watchPrerequisites(source: KubeConfigSource, log: Logger): Promise<PrerequisiteWatch> {
  let client: KubeClient;
  try {
    client = connect(source);
  } catch (error) {
    log.warn({ err: error }, "no cluster to ask: whether it can restart Pods in place is taken for granted");
    return { lacks: [], stop: async () => {} };
  }
  const prerequisites = new Prerequisites({ client, log });
  await Promise.race([prerequisites.start(), sleep(PATIENCE_MS, undefined, { ref: false })]);
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
