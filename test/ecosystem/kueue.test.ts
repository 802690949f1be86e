// Kueue on real kubelets: quota, preemption, node selectors and waitForPodsReady, with JobSets that restart in place.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { JOBSET } from "../../src/api/names.ts";
import { asList, asMap, type Fields } from "../../src/json/fields.ts";
import { quantityValue } from "../../src/json/quantity.ts";
import { runKueue } from "../cluster/parts/kueue.ts";
import { waitFor } from "../cluster/proc.ts";
import type { RunningProgram } from "../cluster/processes.ts";
import { kill, podAt, scripted, TrainingGroup, uids, worker } from "../e2e/group.ts";
import { type Installation, install } from "../e2e/reprise.ts";
import { savesOnTerm } from "../e2e/scripts.ts";
import { SharedFolder } from "../e2e/shared-folder.ts";
import { managerHome } from "./manager-home.ts";
import { createObjects, createQueue, queued, workloadIs, workloadOf } from "./queues.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 400_000 });

/** Longer than a restart in place takes on a busy machine, and shorter than the back-off. */
const RECOVERY_TIMEOUT_S = 40;
const BACKOFF = { after: 1, first: "2m", max: "2m" };
const SAVE_SECONDS = 4;

let installation: Installation;
let kueue: RunningProgram;

beforeAll(async () => {
  installation = await install({}, { controller: { escalateAfter: 0, backoff: BACKOFF } });
  kueue = await runKueue(managerHome(installation), {
    waitForPodsReady: {
      timeout: "5m",
      recoveryTimeout: `${RECOVERY_TIMEOUT_S}s`,
      requeuingStrategy: { backoffBaseSeconds: 1 },
    },
  });
  await installation.kubectl(["label", "nodes", "--all", "example.com/pool=training"]);
  for (const [name, value] of [
    ["low", 1],
    ["high", 2],
  ] as const)
    await createObjects(installation.kubectl, [{ kind: "WorkloadPriorityClass", metadata: { name }, value }]);
});

afterAll(async () => {
  await kueue?.kill();
  await installation?.end();
});

// Each test has its own queue.
describe.concurrent("a JobSet in a queue", () => {
  test("is preempted with its whole grace period, and resumes as it was; quota counts the agents", async () => {
    const { kubectl, namespace } = installation;
    const nodeLabels = { "example.com/pool": "training" };
    await createQueue(kubectl, { name: "team", namespace, quota: { cpu: "500m" }, nodeLabels });
    const folder = new SharedFolder(installation.cluster, "preempted");
    const requests = { resources: { requests: { cpu: "200m" } } };
    const group = await TrainingGroup.start(installation, "preempted", {
      stages: { workers: 2 },
      labels: queued("team", "low"),
      podSpec: {
        workers: {
          ...folder.podSpec({ ...scripted(savesOnTerm(SAVE_SECONDS)), ...requests }),
          terminationGracePeriodSeconds: 30,
        },
      },
    });
    const before = await group.running();
    const admitted = await specOf("preempted");
    expect(agentOf(admitted)).toMatchObject({ name: "reprise-agent" });
    expect(podSpecOf(admitted)["nodeSelector"]).toEqual(nodeLabels);
    const { usage } = await workloadIs(kubectl, namespace, "preempted", ["Admitted", "True"]);
    const agentCpu = asMap(asMap(agentOf(admitted)["resources"])["requests"])["cpu"];
    expect(quantityValue(String(usage[0]?.["cpu"]))).toBe(2n * (nano("200m") + nano(String(agentCpu))));

    // What is in Git has neither the node selector nor the suspension.
    const generation = await generationOf("preempted");
    await group.apply({});
    expect(await generationOf("preempted")).toBe(generation);

    const urgent = await TrainingGroup.start(installation, "urgent", {
      stages: { workers: 2 },
      labels: queued("team", "high"),
      podSpec: { workers: { containers: [{ ...worker(), ...requests }] } },
    });
    const preempting = await urgent.running();
    await group.gone();
    expect(folder.files("saved-")).toEqual(["saved-1-0", "saved-1-1"]);
    const suspended = await specOf("preempted");
    expect(suspended["suspend"]).toBe(true);
    // Kueue takes back what it added, and nothing of the injection.
    expect(podSpecOf(suspended)["nodeSelector"] ?? {}).toEqual({});
    expect(asSubmitted(suspended)).toEqual(asSubmitted(admitted));

    for (const pod of preempting.pods) await urgent.exitWorker(pod, 0);
    expect((await urgent.ended()).outcome).toBe("Completed");
    const resumed = await group.running();
    expect(resumed).toMatchObject({ restarts: 0, history: [] });
    expect(resumed.syncedEpoch).toBeGreaterThan(before.syncedEpoch);
    expect({ ...(await specOf("preempted")), suspend: false }).toEqual({ ...admitted, suspend: false });

    kill(podAt(resumed, 0).worker);
    const restarted = await group.restartedSince(resumed.syncedEpoch);
    expect(restarted).toMatchObject({ restarts: 1 });
    expect(uids(restarted)).toEqual(uids(resumed));
    // The same Workload since the beginning: Kueue never found another JobSet than it had admitted.
    const { conditions } = await workloadIs(kubectl, namespace, "preempted", ["Admitted", "True"]);
    expect(conditions["Finished"]).toBeUndefined();
    await group.delete();
    await urgent.delete();
  });

  test("is admitted by a ClusterQueue that covers only an accelerator", async () => {
    const { kubectl, namespace } = installation;
    const tpu = "example.com/tpu";
    for (const node of (await kubectl(["get", "nodes", "-o", "name"])).trim().split("\n")) {
      const amount = { [tpu]: "2" };
      const patch = JSON.stringify({ status: { capacity: amount, allocatable: amount } });
      await kubectl(["patch", node, "--subresource=status", "--type=merge", "-p", patch]);
    }
    await createQueue(kubectl, { name: "accelerators", namespace, quota: { [tpu]: "2" } });
    const group = await TrainingGroup.start(installation, "accelerated", {
      stages: { workers: 2 },
      labels: queued("accelerators"),
      podSpec: { workers: { containers: [{ ...worker(), resources: { limits: { [tpu]: "1" } } }] } },
    });
    const before = await group.running();
    const { usage } = await workloadIs(kubectl, namespace, "accelerated", ["Admitted", "True"]);
    expect(usage).toEqual([{ [tpu]: "2" }]);
    kill(podAt(before, 1).worker);
    expect(await group.restarted(2)).toMatchObject({ restarts: 1 });
    await group.delete();
  });

  test("a restart in place is no eviction, and a back-off beyond recoveryTimeout is one without cost", async () => {
    const { kubectl, namespace } = installation;
    await createQueue(kubectl, { name: "ready", namespace, quota: { cpu: "1" } });
    const group = await TrainingGroup.start(installation, "slow", {
      stages: { workers: 2 },
      labels: queued("ready"),
      podSpec: { workers: { containers: [{ ...worker(), resources: { requests: { cpu: "10m" } } }] } },
    });
    const before = await group.running();
    await workloadIs(kubectl, namespace, "slow", ["PodsReady", "True"]);
    kill(podAt(before, 0).worker);
    const once = await group.restarted(2);
    const { conditions } = await workloadIs(kubectl, namespace, "slow", ["PodsReady", "True", "Recovered"]);
    expect(conditions["Evicted"]?.status ?? "False").toBe("False");
    expect(uids(once)).toEqual(uids(before));

    // The barrier is held for two minutes now, and Kueue waits 40 seconds.
    kill(podAt(once, 0).worker);
    await waitFor("Kueue evicts the JobSet", 90_000, async () => {
      const events = ["get", "events", "-n", namespace, "--field-selector", "reason=EvictedDueToPodsReadyTimeout"];
      return (await kubectl(events)).includes("slow");
    });
    const requeued = await group.reached("runs in new Pods", ({ phase, pods }) => {
      return (
        phase === "Running" &&
        pods.length === 2 &&
        pods.every((pod) => pod.worker.running && !uids(before).includes(pod.uid))
      );
    });
    expect(requeued).toMatchObject({ restarts: 2 });
    expect(await group.jobSet()).toMatchObject({ outcome: "none", suspended: false });
    expect((await workloadOf(kubectl, namespace, "slow"))?.conditions["Finished"]).toBeUndefined();
    await group.delete();
  });
});

async function specOf(name: string): Promise<Fields> {
  return asMap((await stored(name))["spec"]);
}

async function generationOf(name: string): Promise<unknown> {
  return asMap((await stored(name))["metadata"])["generation"];
}

async function stored(name: string): Promise<Fields> {
  const args = ["get", JOBSET.plural, name, "-n", installation.namespace, "-o", "json"];
  return asMap(JSON.parse(await installation.kubectl(args)));
}

function podSpecOf(spec: Fields): Fields {
  const job = asMap(asMap(asMap(asList(spec["replicatedJobs"])[0])["template"])["spec"]);
  return asMap(asMap(job["template"])["spec"]);
}

const agentOf = (spec: Fields): Fields => asMap(asList(podSpecOf(spec)["initContainers"])[0]);

/** The replicatedJobs without the node selectors and labels that Kueue adds while a JobSet is admitted. */
function asSubmitted(spec: Fields): unknown {
  const isKueues = (key: string) => key === "nodeSelector" || key.startsWith("kueue.x-k8s.io/");
  return JSON.parse(JSON.stringify(spec["replicatedJobs"], (key, value) => (isKueues(key) ? undefined : value)));
}

const nano = (quantity: string): bigint => quantityValue(quantity) ?? 0n;
