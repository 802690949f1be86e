// KEP-467 end to end on real kubelets: kill any worker, and the whole group is back in place, exactly once, without a new Pod.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Cluster, down, freeSlot } from "../cluster/cluster.ts";
import type { Kubectl } from "../cluster/kubectl.ts";
import { silentProgress } from "../cluster/progress.ts";
import { createNamespace } from "../reprise-programs.ts";
import { TrainingGroup } from "./group.ts";
import { type Reprise, startReprise } from "./reprise.ts";

let cluster: Cluster;
let reprise: Reprise;
let kubectl: Kubectl;

beforeAll(async () => {
  const slot = freeSlot(16);
  cluster = await Cluster.up({ slot, nodes: 2, parts: ["jobset"], upstreamInPlace: false, progress: silentProgress });
  kubectl = cluster.kubectl;
  reprise = await startReprise(cluster);
  await createNamespace(kubectl, "training");
});

afterAll(async () => {
  await reprise?.stop();
  if (cluster !== undefined) await down(cluster.record.slot);
});

describe("two replicatedJobs of four Pods each", () => {
  let group: TrainingGroup;
  let number = 0;

  beforeEach(async () => {
    number += 1;
    group = await TrainingGroup.start(kubectl, "training", `train-${number}`, { leaders: 4, followers: 4 });
    return () => group.remove();
  });

  test.each([
    ["exits with 1", (pod: string) => group.exitWorker(pod, 1)],
    ["exits with 137, as when it runs out of memory", (pod: string) => group.exitWorker(pod, 137)],
    ["is killed with SIGKILL", (pod: string) => group.killWorker(pod)],
  ])("a worker %s: all eight restart once, in place, and start together", async (_, fail) => {
    const before = await group.running();
    const [victim] = before.pods;
    await fail(victim?.name ?? "");
    const after = await group.restarted(before.syncedEpoch + 1);

    expect(after.pods.map(({ uid }) => uid)).toEqual(before.pods.map(({ uid }) => uid));
    for (const pod of after.pods) expect(pod.workerRestarts).toBe(1);
    expect(after.restarts).toBe(1);
    // No worker of the new epoch started before every agent had reached it.
    const lastAgent = Math.max(...after.pods.map(({ agentStartedAt }) => agentStartedAt));
    for (const pod of after.pods) expect(pod.workerStartedAt).toBeGreaterThanOrEqual(lastAgent);
  });
});
