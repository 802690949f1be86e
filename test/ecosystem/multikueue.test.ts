// MultiKueue with two clusters: a manager without nodes, where the JobSet is injected, and a worker cluster with real
// kubelets, where its copy runs and restarts in place.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { LABEL, MULTIKUEUE } from "../../src/api/names.ts";
import { asList, asMap, type Fields } from "../../src/json/fields.ts";
import { connect, type KubeClient } from "../../src/kube/client.ts";
import type { Kubectl } from "../cluster/kubectl.ts";
import type { ManagerHome } from "../cluster/parts/host-manager.ts";
import { runKueue } from "../cluster/parts/kueue.ts";
import { waitFor } from "../cluster/proc.ts";
import type { RunningProgram } from "../cluster/processes.ts";
import { kill, podAt, TrainingGroup, uids, worker } from "../e2e/group.ts";
import { AGENT_IMAGE, type Installation, install } from "../e2e/reprise.ts";
import { type AdmissionChain, startAdmissionChain } from "../integration/admission-chain.ts";
import { applyManifests, createNamespace, runController } from "../reprise-programs.ts";
import { managerHome } from "./manager-home.ts";
import { createObjects, createQueue, queued, workloadIs } from "./queues.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 400_000 });

const QUEUE = "team";
const QUOTA = { cpu: "1" };
/** Not the default, so that a worker cluster which injected again would be seen. */
const AGENT_RESOURCES = { cpu: "15m", memory: "96Mi" };

let chain: AdmissionChain;
let manager: Kubectl;
let managerClient: KubeClient;
let workers: Installation;
let programs: readonly RunningProgram[] = [];

beforeAll(async () => {
  workers = await install();
  programs = [await runKueue(managerHome(workers))];
  await createQueue(workers.kubectl, { name: QUEUE, namespace: workers.namespace, quota: QUOTA });

  chain = await startAdmissionChain({
    injection: { agentImage: AGENT_IMAGE, agentPullPolicy: "Never", agentResources: AGENT_RESOURCES },
  });
  const { controlPlane } = chain;
  manager = controlPlane.kubectl;
  managerClient = connect({ kubeconfig: controlPlane.kubeconfig });
  await applyManifests(manager);
  const { server, credentials } = controlPlane;
  const bundle = join(chain.home.folder, "reprise.js");
  await runController(chain.home, bundle, manager, { url: server, ca: credentials.authority.cert });
  const home: ManagerHome = { ...chain.home, kubectl: manager, kubeconfig: controlPlane.kubeconfig };
  // The worker cluster must serve every type of an integration that is enabled on the manager.
  const integrations = { frameworks: ["jobset.x-k8s.io/jobset"] };
  programs = [...programs, await runKueue(home, { integrations })];
  await createNamespace(manager, workers.namespace);
  await connectWorkers();
});

afterAll(async () => {
  await managerClient?.close();
  await Promise.all(programs.map((program) => program.kill()));
  await chain?.controlPlane.stop();
  await workers?.end();
});

/** Tells the manager about the worker cluster, and makes a queue that sends its JobSets there. */
async function connectWorkers(): Promise<void> {
  const kubeconfig = readFileSync(workers.cluster.kubeconfig, "utf8");
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "workers", namespace: "kueue-system" },
    stringData: { kubeconfig },
  };
  await manager(["apply", "-f", "-"], { input: JSON.stringify(secret) });
  await createObjects(manager, [
    {
      kind: "MultiKueueCluster",
      metadata: { name: "workers" },
      spec: { clusterSource: { kubeConfig: { locationType: "Secret", location: "workers" } } },
    },
    { kind: "MultiKueueConfig", metadata: { name: "workers" }, spec: { clusters: ["workers"] } },
    {
      kind: "AdmissionCheck",
      metadata: { name: "workers" },
      spec: {
        controllerName: MULTIKUEUE.controller,
        parameters: { apiGroup: "kueue.x-k8s.io", kind: "MultiKueueConfig", name: "workers" },
      },
    },
  ]);
  await createQueue(manager, {
    name: QUEUE,
    namespace: workers.namespace,
    quota: QUOTA,
    spec: { admissionChecksStrategy: { admissionChecks: [{ name: "workers" }] } },
  });
  await manager(["wait", "clusterqueue", QUEUE, "--for=condition=Active", "--timeout=90s"]);
}

test("a JobSet is injected on the manager, and its copy restarts in place on the worker cluster", async () => {
  const { namespace } = workers;
  const home = { kubectl: manager, client: managerClient, namespace };
  const sent = await TrainingGroup.start(home, "train", {
    stages: { workers: 2 },
    labels: queued(QUEUE),
    podSpec: { workers: { containers: [{ ...worker(), resources: { requests: { cpu: "10m" } } }] } },
  });
  const original = await stored(manager);
  expect(asMap(original["spec"])).toMatchObject({ managedBy: MULTIKUEUE.controller });
  expect(agentOf(original)["resources"]).toMatchObject({ requests: { cpu: AGENT_RESOURCES.cpu } });

  const group = TrainingGroup.of(workers, "train", { stages: { workers: 2 } });
  const before = await group.running();
  const copy = await stored(workers.kubectl);
  expect(namesOf(copy)).toContain(MULTIKUEUE.prebuiltWorkload);
  expect(templatesOf(copy)).toEqual(templatesOf(original));
  expect(asMap(copy["metadata"])["labels"]).toMatchObject({ [LABEL.injected]: "true" });
  expect(await skipped()).toBe(1);

  kill(podAt(before, 0).worker);
  const after = await group.restarted(2);
  expect(after).toMatchObject({ restarts: 1 });
  expect(uids(after)).toEqual(uids(before));
  // Kueue compares both at every change, and ends a Workload that differs.
  for (const kubectl of [manager, workers.kubectl]) {
    const { conditions } = await workloadIs(kubectl, namespace, "train", ["Admitted", "True"]);
    expect(conditions["Finished"]).toBeUndefined();
  }
  // The manager has no Pods of it, so it has no group either.
  expect(await manager(["get", "inplacerestarts,groupepochs", "-A", "-o", "name"])).toBe("");
  expect(await manager(["get", "rolebindings", "-n", namespace, "-o", "name"])).toBe("");

  for (const pod of after.pods) await group.exitWorker(pod, 0);
  expect((await sent.ended()).outcome).toBe("Completed");
  await workloadIs(manager, namespace, "train", ["Finished", "True", "Succeeded"]);
});

async function stored(kubectl: Kubectl): Promise<Fields> {
  return await waitFor("the JobSet exists", 60_000, async () => {
    const list = asMap(JSON.parse(await kubectl(["get", "jobsets", "-n", workers.namespace, "-o", "json"])));
    const [found] = asList(list["items"]);
    return found === undefined ? undefined : asMap(found);
  });
}

/** The keys of its labels and annotations. */
function namesOf(jobSet: Fields): readonly string[] {
  const { labels, annotations } = asMap(jobSet["metadata"]);
  return [...Object.keys(asMap(labels)), ...Object.keys(asMap(annotations))];
}

/** Without the labels and annotations that Kueue adds to the Pods when it starts them. */
function templatesOf(jobSet: Fields): unknown {
  const jobs = JSON.stringify(asMap(jobSet["spec"])["replicatedJobs"], (key, value) => {
    return key.startsWith("kueue.x-k8s.io/") ? undefined : value;
  });
  return JSON.parse(jobs);
}

function agentOf(jobSet: Fields): Fields {
  const [replicatedJob] = asList(asMap(jobSet["spec"])["replicatedJobs"]);
  const job = asMap(asMap(asMap(replicatedJob)["template"])["spec"]);
  return asMap(asList(asMap(asMap(job["template"])["spec"])["initContainers"])[0]);
}

/** How many JobSets the webhook of the worker cluster left alone because of their Workload. */
async function skipped(): Promise<number> {
  const metrics = await (await fetch(`${workers.reprise.webhook.healthUrl}/metrics`)).text();
  const counts = metrics.matchAll(
    /^reprise_webhook_requests_total\{webhook="mutate",.*reason="prebuilt-workload"\} (\d+)$/gm,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
