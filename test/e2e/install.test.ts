// What a platform engineer does, in this order on one cluster: install from the manifests, use, renew the certificate,
// upgrade, uninstall, and then the same with the Helm chart. cert-manager, JobSet and reprise run in Pods, reprise from
// the image of the Dockerfile.
import { afterAll, beforeAll, expect, it } from "vitest";
import { CONDITION } from "../../controller/status/conditions.ts";
import { GROUP_EPOCH } from "../../src/api/group-epoch.ts";
import { IN_PLACE_RESTART } from "../../src/api/in-place-restart.ts";
import { AGENT, JOBSET, LABEL } from "../../src/api/names.ts";
import { readDoctorFacts } from "../../src/cli/input/doctor-facts.ts";
import { diagnose } from "../../src/doctor/doctor.ts";
import { asList, asMap, asText, asTextMap } from "../../src/json/fields.ts";
import { connect, type KubeClient, MERGE_PATCH } from "../../src/kube/client.ts";
import { Cluster, down } from "../cluster/cluster.ts";
import { type Helm, helmFor } from "../cluster/helm.ts";
import { waitFor } from "../cluster/proc.ts";
import { silentProgress } from "../cluster/progress.ts";
import { imageName } from "../image/reprise-image.ts";
import { createNamespace } from "../reprise-programs.ts";
import { type GroupState, kill, podAt, TrainingGroup } from "./group.ts";
import { installReprise, loadReprise, uninstallReprise } from "./install-manifests.ts";
import { type RunningPrometheus, startPrometheus } from "./prometheus.ts";
import { freeTestSlot } from "./test-slot.ts";

const NAMESPACE = "training";
const SYSTEM = "reprise-system";
const CHART = "charts/reprise";
const TAG = { first: "first", next: "next" } as const;

let slot: number;
let cluster: Cluster;
let client: KubeClient;
let group: TrainingGroup;

beforeAll(async () => {
  slot = freeTestSlot();
  const parts = ["jobset", "cert-manager"] as const;
  cluster = await Cluster.up({ slot, nodes: 2, parts, upstreamInPlace: false, progress: silentProgress });
  client = connect({ kubeconfig: cluster.kubeconfig });
  await loadReprise(cluster, TAG.first);
  await loadReprise(cluster, TAG.next);
}, 1_200_000);

afterAll(async () => {
  await client?.close();
  if (slot !== undefined) await down(slot);
});

const home = () => ({ kubectl: cluster.kubectl, client, namespace: NAMESPACE });

/** What must not change while reprise is upgraded or removed. */
function untouched({ pods }: Pick<GroupState, "pods">): unknown {
  return pods.map(({ name, uid, worker, agent }) => ({ name, uid, worker, agent }));
}

async function rawJobSet(name: string): Promise<Readonly<Record<string, unknown>>> {
  return asMap(await client.request("GET", `/apis/jobset.x-k8s.io/v1alpha2/namespaces/${NAMESPACE}/jobsets/${name}`));
}

async function generationOf(name: string): Promise<unknown> {
  return asMap((await rawJobSet(name))["metadata"])["generation"];
}

async function agentImages(name: string): Promise<readonly string[]> {
  const query = { labelSelector: `${JOBSET.nameKey}=${name}` };
  const list = await client.request("GET", `/api/v1/namespaces/${NAMESPACE}/pods`, { query });
  return asList(list["items"]).flatMap((pod) =>
    asList(asMap(asMap(pod)["spec"])["initContainers"])
      .map(asMap)
      .filter((container) => container["name"] === AGENT.container)
      .map((container) => asText(container["image"]) ?? ""),
  );
}

/** The API server can call the webhooks once cert-manager has injected the CA. */
async function webhooksTrusted(): Promise<void> {
  await waitFor("the webhooks are trusted", 60_000, async () => {
    const bundles = await cluster.kubectl([
      "get",
      "mutatingwebhookconfiguration/reprise-webhook",
      "validatingwebhookconfiguration/reprise-webhook",
      "-o",
      "jsonpath={range .items[*]}{.webhooks[0].clientConfig.caBundle}{'\\n'}{end}",
    ]);
    return bundles.trim().split("\n").length === 2;
  });
}

async function recovers(group: TrainingGroup): Promise<void> {
  const before = await group.running();
  const [failed] = before.pods;
  if (failed === undefined) throw new Error("the group has no Pods");
  kill(failed.worker);
  const after = await group.restarted(before.syncedEpoch + 1);
  expect(after.pods.map(({ uid }) => uid)).toEqual(before.pods.map(({ uid }) => uid));
  expect(after.restarts).toBe(before.restarts + 1);
}

it("reprise installs with one command, and a plain JobSet in a labeled namespace recovers in place", async () => {
  await installReprise(cluster, TAG.first);
  const pods = asList((await client.request("GET", `/api/v1/namespaces/${SYSTEM}/pods`))["items"]).map(asMap);
  expect(pods).toHaveLength(4);
  await createNamespace(cluster.kubectl, NAMESPACE);
  await webhooksTrusted();
  group = await TrainingGroup.start(home(), "train", { stages: { workers: 4 } });
  await group.running();
  expect(new Set(await agentImages("train"))).toEqual(new Set([`docker.io/local/reprise:${TAG.first}`]));
  await recovers(group);
  // Nothing is wrong with what was just installed.
  const facts = await readDoctorFacts(client, { now: Date.now(), systemNamespace: SYSTEM, namespace: undefined });
  expect(diagnose(facts).filter(({ grade }) => grade !== "ok")).toEqual([]);
  expect(diagnose(facts).map(({ check }) => check)).toContain("webhook-endpoints");
}, 600_000);

it("while the certificate is renewed, every JobSet that is applied is injected", async () => {
  const serials = async () => (await certificateLoads()).map((loads) => loads.length);
  const before = await serials();
  const secretBefore = await secretVersion();
  let applied = 0;
  let renewing = true;
  const applies = (async () => {
    while (renewing) {
      const answer = await applyDry();
      // The webhooks fail open, so only the label shows that the call succeeded.
      expect(asTextMap(asMap(answer["metadata"])["labels"])[LABEL.injected]).toBe("true");
      applied += 1;
    }
  })();
  const renewed = (async () => {
    try {
      await renewCertificate();
      await waitFor("cert-manager has issued", 60_000, async () => (await secretVersion()) !== secretBefore);
      // The kubelet updates a Secret volume within about a minute.
      await waitFor("every replica serves the new certificate", 180_000, async () => {
        const now = await serials();
        return now.length === before.length && now.every((count, index) => count > (before[index] ?? 0));
      });
    } finally {
      renewing = false;
    }
  })();
  await Promise.all([applies, renewed]);
  expect(applied).toBeGreaterThan(20);
}, 360_000);

/** The result of a dry-run create of a small plain JobSet. */
async function applyDry(): Promise<Readonly<Record<string, unknown>>> {
  const podTemplate = { spec: { containers: [{ name: "c", image: "c" }] } };
  const object = {
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: { name: "dry" },
    spec: { replicatedJobs: [{ name: "w", template: { spec: { template: podTemplate } } }] },
  };
  const path = `/apis/jobset.x-k8s.io/v1alpha2/namespaces/${NAMESPACE}/jobsets`;
  return await client.request("POST", path, { body: object, query: { dryRun: "All" } });
}

/** Does what `cmctl renew` does. */
async function renewCertificate(): Promise<void> {
  const path = `/apis/cert-manager.io/v1/namespaces/${SYSTEM}/certificates/reprise-webhook`;
  const conditions = asList(asMap((await client.request("GET", path))["status"])["conditions"]);
  const issuing = {
    type: "Issuing",
    status: "True",
    reason: "ManuallyTriggered",
    message: "renewed by a test",
    lastTransitionTime: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
  };
  const body = { status: { conditions: [...conditions, issuing] } };
  await client.request("PATCH", `${path}/status`, { body, contentType: MERGE_PATCH });
}

async function secretVersion(): Promise<string> {
  const { metadata, data } = await client.request("GET", `/api/v1/namespaces/${SYSTEM}/secrets/reprise-webhook-tls`);
  return asTextMap(data)["tls.crt"] === undefined ? "" : (asText(asMap(metadata)["resourceVersion"]) ?? "");
}

/** The log lines about loaded certificates, for each webhook replica. */
async function certificateLoads(): Promise<readonly (readonly string[])[]> {
  const selector = "app.kubernetes.io/component=webhook";
  const names = (await cluster.kubectl(["get", "pods", "-n", SYSTEM, "-l", selector, "-o", "name"])).trim().split("\n");
  const logs = await Promise.all(names.sort().map((name) => cluster.kubectl(["logs", "-n", SYSTEM, name])));
  return logs.map((log) => log.split("\n").filter((line) => line.includes("certificate loaded")));
}

it("an upgrade leaves running JobSets alone; they still recover, and new ones get the new agent", async () => {
  const before = await group.running();
  const generation = await generationOf("train");
  await installReprise(cluster, TAG.next);
  const after = await group.running();
  expect(untouched(after)).toEqual(untouched(before));
  expect(await generationOf("train")).toBe(generation);
  await recovers(group);
  expect(new Set(await agentImages("train"))).toEqual(new Set([`docker.io/local/reprise:${TAG.first}`]));
  // A terminating replica answers once more on each connection that the API server still holds.
  await waitFor("the old replicas are gone", 150_000, async () => {
    await applyDry();
    const pods = asList((await client.request("GET", `/api/v1/namespaces/${SYSTEM}/pods`))["items"]).map(asMap);
    return pods.every(({ metadata }) => asMap(metadata)["deletionTimestamp"] === undefined);
  });
  const fresh = await TrainingGroup.start(home(), "fresh", { stages: { workers: 1 } });
  await fresh.running();
  expect(await agentImages("fresh")).toEqual([`docker.io/local/reprise:${TAG.next}`]);
  await fresh.delete();
  await fresh.gone();
}, 600_000);

it("reprise uninstalls with one command: JobSets keep running, no object remains, new JobSets stay plain", async () => {
  const before = await group.running();
  const uninstalled = uninstallReprise(cluster, TAG.next);
  // The webhook serves on until the API server has dropped its connections. The next test need not wait for that.
  await waitFor("both types are gone", 120_000, async () => {
    const types = await cluster.kubectl(["get", "crd", "-o", "name"]);
    return ![GROUP_EPOCH, IN_PLACE_RESTART].some(({ plural }) => types.includes(plural));
  });
  expect(untouched({ pods: await group.pods() })).toEqual(untouched(before));
  kill(podAt(before, 0).worker);
  afterRemoval = { before, killedAt: Date.now() };
  await uninstalled;
  expect(await leftovers()).toEqual([]);
  await TrainingGroup.start(home(), "plain", { stages: { workers: 1 } });
  const labels = asTextMap(asMap((await rawJobSet("plain"))["metadata"])["labels"]);
  expect(labels[LABEL.injected]).toBeUndefined();
  await waitFor("the plain JobSet's Pod runs", 60_000, async () => {
    const selector = `${JOBSET.nameKey}=plain`;
    const phase = "jsonpath={.items[*].status.phase}";
    return (await cluster.kubectl(["get", "pods", "-n", NAMESPACE, "-l", selector, "-o", phase])) === "Running";
  });
  expect(await agentImages("plain")).toEqual([]);
}, 600_000);

/** A worker was killed when reprise was gone. */
let afterRemoval: { readonly before: Pods; readonly killedAt: number };

it("a worker that fails after the removal starts again by itself in minutes, and the JobSet completes", async () => {
  const { before, killedAt } = afterRemoval;
  // The agent asks for two minutes before it believes that no controller will lift its barrier.
  const again = await restartedAlone(before, 180_000);
  const seconds = (Date.now() - killedAt) / 1_000;
  process.stdout.write(`\nwithout reprise, a killed worker ran again within ${seconds.toFixed(0)} s\n`);
  // Once it knows, it does not wait again.
  kill(podAt(again, 0).worker);
  const { pods } = await restartedAlone(again, 60_000);
  for (const pod of pods) await group.exitWorker(pod, 0);
  expect(await group.ended()).toMatchObject({ outcome: "Completed", restarts: 0 });
}, 600_000);

type Pods = Pick<GroupState, "pods">;

/** Waits until the first worker runs again in its Pod. The others must not notice. */
async function restartedAlone(before: Pods, timeoutMs: number): Promise<Pods> {
  const { uid, worker } = podAt(before, 0);
  const after = await waitFor("the failed worker runs again", timeoutMs, async () => {
    const seen = { pods: await group.pods() };
    const now = podAt(seen, 0).worker;
    return now.running && now.restarts > worker.restarts ? seen : undefined;
  });
  expect(podAt(after, 0).uid).toBe(uid);
  expect(untouched({ pods: after.pods.slice(1) })).toEqual(untouched({ pods: before.pods.slice(1) }));
  return after;
}

const release = ["--namespace", SYSTEM, "--wait", "--timeout=240s"];

function chartValues(tag: string): readonly string[] {
  const [repository] = imageName(tag).split(`:${tag}`);
  return [
    `--set=image.repository=${repository},image.tag=${tag}`,
    "--set=webhook.replicas=1,controller.replicas=1,monitoring.dashboard.enabled=true",
  ];
}

let helm: Helm;
let charted: TrainingGroup;

it("the Helm chart installs reprise, and a group recovers in place", async () => {
  helm = await helmFor(cluster.kubeconfig);
  await helm(["install", "reprise", CHART, ...release, "--create-namespace", ...chartValues(TAG.first)]);
  await webhooksTrusted();
  charted = await TrainingGroup.start(home(), "charted", { stages: { workers: 2 } });
  await charted.running();
  await recovers(charted);
}, 300_000);

it("Prometheus scrapes the install, and fires RepriseNotInjected and RepriseBarrierStalled alone", async () => {
  const prometheus = await startPrometheus(cluster);
  try {
    // The JobSet "plain" was created in a labeled namespace while reprise was removed.
    await alertsAre(prometheus, ["RepriseNotInjected"]);
    const nowhere = { workers: { nodeSelector: { "reprise.dev/no-such-node": "true" } } };
    const waiting = await TrainingGroup.start(home(), "waiting", { stages: { workers: 1 }, podSpec: nowhere });
    const { conditions } = await waiting.reached("waits at its barrier", (state) => {
      return state.conditions.some(({ type, status }) => type === CONDITION.atBarrier && status === "True");
    });
    // Act as if it had waited for long.
    const lastTransitionTime = new Date(Date.now() - 600_000).toISOString();
    const body = { status: { conditions: conditions.map((condition) => ({ ...condition, lastTransitionTime })) } };
    const path = `/apis/reprise.dev/v1alpha1/namespaces/${NAMESPACE}/${IN_PLACE_RESTART.plural}/waiting/status`;
    await client.request("PATCH", path, { body, contentType: MERGE_PATCH });
    await alertsAre(prometheus, ["RepriseBarrierStalled", "RepriseNotInjected"]);
    expect(await prometheus.query("max(reprise_controller_stalled_groups)")).toEqual([1]);
    expect(await prometheus.query('max(reprise_controller_groups{phase="Running"})')).toEqual([1]);
    await waiting.delete();
    await alertsAre(prometheus, ["RepriseNotInjected"]);
  } finally {
    await prometheus.stop();
  }
}, 180_000);

async function alertsAre(prometheus: RunningPrometheus, names: readonly string[]): Promise<void> {
  let firing: readonly string[] = [];
  await waitFor(`the alerts are ${names.join(", ")}`, 60_000, async () => {
    firing = await prometheus.firing();
    return firing.join() === names.join();
  }).catch((error: unknown) => {
    throw new Error(`firing: ${firing.join(", ")}`, { cause: error });
  });
}

it("the Helm chart upgrades, rolls back and uninstalls, and a group keeps running and recovers", async () => {
  const before = await charted.running();
  const installed = await controllerPod();
  const setting = "--set=config.injection.defaultMaxRestarts=7";
  await helm(["upgrade", "reprise", CHART, ...release, ...chartValues(TAG.next), setting]);
  const upgraded = await controllerPod();
  expect(upgraded.image).toBe(imageName(TAG.next));
  expect(upgraded.config).not.toBe(installed.config);
  await recovers(charted);

  await helm(["rollback", "reprise", "1", ...release]);
  expect(await controllerPod()).toEqual(installed);
  await recovers(charted);

  const running = await charted.running();
  expect(running.pods.map(({ uid }) => uid)).toEqual(before.pods.map(({ uid }) => uid));
  await helm(["uninstall", "reprise", ...release]);
  expect(untouched({ pods: await charted.pods() })).toEqual(untouched(running));
  // In its namespace, the last Pods terminate, and cert-manager leaves the Secrets that it wrote.
  const outside = async () => (await leftovers()).filter((name) => !name.includes(` ${SYSTEM}/`));
  // RoleBindings of agents are collected with the InPlaceRestarts that own them.
  await waitFor("nothing remains outside the namespace", 60_000, async () => (await outside()).length === 1);
  expect(await outside()).toEqual([`Namespace /${SYSTEM}`]);
}, 300_000);

/** What the controller runs, according to its Deployment. */
async function controllerPod(): Promise<{ readonly image: string; readonly config: string }> {
  const pod = "{.spec.template.spec";
  const path = `jsonpath=${pod}.containers[0].image} ${pod}.volumes[0].configMap.name}`;
  const text = await cluster.kubectl(["get", "deployment", "reprise-controller", "-n", SYSTEM, "-o", path]);
  const [image = "", config = ""] = text.split(" ");
  return { image, config };
}

/** Every object in the cluster that belongs to reprise, by name or by label. */
async function leftovers(): Promise<readonly string[]> {
  const kinds = await cluster.kubectl(["api-resources", "--verbs=list", "-o", "name"]);
  // Events expire by themselves.
  const listed = kinds
    .trim()
    .split("\n")
    .filter((kind) => !/^events(\.|$)|^componentstatuses$|metrics/.test(kind));
  const objects = JSON.parse(await cluster.kubectl(["get", listed.join(","), "-A", "-o", "json"]));
  return asList(asMap(objects)["items"])
    .map(asMap)
    .filter(({ metadata }) => {
      const { name, labels } = asMap(metadata);
      return asText(name)?.includes("reprise") || asTextMap(labels)["app.kubernetes.io/part-of"] === "reprise";
    })
    .map(({ kind, metadata }) => `${kind} ${asMap(metadata)["namespace"] ?? ""}/${asMap(metadata)["name"]}`);
}
