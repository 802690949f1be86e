// Faults in which a worker stops making progress, and all others wait for it: for good, or for a while.
import type { Cluster } from "../cluster.ts";
import { always, type FaultDefinition } from "./fault.ts";

/** Only a worker that has made a step is known to hang. */
function stick(cluster: Cluster, ms: number): void {
  const { world, nodes } = cluster;
  const pod = world.random.pick(nodes.pods.filter(({ hasWorker }) => hasWorker));
  if (pod?.stick(ms) === true) world.tell(pod.name, `worker is stuck for ${Math.round(ms)} ms`);
}

export const hangWorker: FaultDefinition = {
  text: "a worker stops making progress, and every other waits for it",
  byRequest: false,
  mayCount: always,
  strike: (cluster) => stick(cluster, Number.POSITIVE_INFINITY),
};

/** As long as the limit, more or less: some resume just as they are judged, or while the verdict is on its way. */
const PAUSE_SHARE = [0.8, 1.3] as const;

export const pauseWorkers: FaultDefinition = {
  text: "all workers pause for about as long as they may",
  byRequest: false,
  mayCount: always,
  strike(cluster) {
    const { random, training } = cluster.world;
    stick(cluster, (training.hangAfterMs ?? 0) * random.between(...PAUSE_SHARE));
  },
};
