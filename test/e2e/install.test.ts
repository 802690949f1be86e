// What a platform engineer does, in this order on one cluster: install from the manifests, use, renew the certificate,
// upgrade, uninstall, and then the same with the Helm chart. cert-manager, JobSet and reprise run in Pods, reprise from
// the image of the Dockerfile. The steps that README.md and docs/install.md show are the commands of their blocks.
import { afterAll, beforeAll, expect, it } from "vitest";
import { stringify } from "yaml";
import { CONDITION } from "../../controller/status/conditions.ts";
import { GROUP_EPOCH } from "../../src/api/group-epoch.ts";
import { IN_PLACE_RESTART } from "../../src/api/in-place-restart.ts";
import { wholeSeconds } from "../../src/api/metadata.ts";
import { AGENT, JOBSET, LABEL } from "../../src/api/names.ts";
import { VERSION } from "../../src/api/version.ts";
import { readDoctorFacts } from "../../src/cli/input/doctor-facts.ts";
import { diagnose } from "../../src/doctor/doctor.ts";
import { asList, asMap, asText, asTextMap } from "../../src/json/fields.ts";
import { connect, type KubeClient, MERGE_PATCH } from "../../src/kube/client.ts";
import { ensureBinaries } from "../cluster/binaries.ts";
import { Cluster, down } from "../cluster/cluster.ts";
import { type Helm, helmFor } from "../cluster/helm.ts";
import { waitFor } from "../cluster/proc.ts";
import { silentProgress, terminalProgress } from "../cluster/progress.ts";
import { imageName } from "../image/reprise-image.ts";
import { Console, consoleCommands } from "./console.ts";
import { type GroupState, kill, podAt, TrainingGroup } from "./group.ts";
import { installReprise, loadReprise } from "./install-manifests.ts";
import { type RunningPrometheus, startPrometheus } from "./prometheus.ts";
import { freeTestSlot } from "./test-slot.ts";

const NAMESPACE = "training";
const SYSTEM = "reprise-system";
const CHART = "charts/reprise";
const NEXT = "next";
/** As the pages name it. */
const REPOSITORY = "registry.example/reprise";
const FIRST_IMAGE = `${REPOSITORY}:${VERSION}`;

const PAGES = ["README.md", "docs/install.md"];

/** Commands of the pages that this machine cannot run, and why. */
const CANNOT_RUN: Readonly<Record<string, string>> = {
  "npm ci && npm run demo": "starts a cluster of its own beside this one, and shows it for minutes",
  "npm cit": "runs this test among all others",
  "npm ci": "has run, or there would be no test",
  "npm ci && npm run build:image -- --tag registry.example/reprise:0.1.0":
    "pulls the base images from a public registry; the image here is built from the same Dockerfile on other bases",
  "npm run build:image -- --tag registry.example/reprise:0.1.0": "the same",
  "npm run build:image -- --tag registry.example/reprise:0.1.0 --arch amd64 --arch arm64":
    "the same; test/e2e/image.test.ts builds both architectures",
  "kubectl apply -n training -k examples/pytorch":
    "needs an image with PyTorch, which test/ecosystem/training.test.ts builds; it runs the example and kills a rank",
  'kubectl exec -n training $(kubectl get pods -n training -o name | head -n 1) -c trainer -- sh -c "kill 1"':
    "the same",
  "kubectl logs -n training -l jobset.sigs.k8s.io/jobset-name=pytorch -c trainer -f": "the same",
  "reprise completion fish | source": "needs fish; src/cli/commands/completion.test.ts reads its script",
};

/** Commands that go on until Ctrl-C, and whether a line shows what the page promises. */
const UNTIL_CTRL_C: Readonly<Record<string, (line: string) => boolean | Promise<boolean>>> = {
  "npx reprise status train -n training -w": (line) => / training\/train +Running +4\/4 /.test(line),
  "npx reprise dashboard -n training": async (line) => {
    const url = /http:\S+/.exec(line)?.[0];
    if (url === undefined) return false;
    expect(await (await fetch(url)).text()).toContain("<title>reprise</title>");
    await waitFor("the dashboard has listed everything", 30_000, async () => (await fetch(`${url}readyz`)).ok);
    const { body } = await fetch(`${url}events?group=training/train`);
    for await (const chunk of body ?? []) {
      if (Buffer.from(chunk).includes('"key":"training/train"')) return true;
    }
    return false;
  },
};

let slot: number;
let cluster: Cluster;
let client: KubeClient;
let group: TrainingGroup;
let reader: Console;
/** Commands of the pages that have run. */
const done = new Set<string>();

beforeAll(async () => {
  slot = freeTestSlot();
  const parts = ["jobset", "cert-manager"] as const;
  cluster = await Cluster.up({ slot, nodes: 2, parts, upstreamInPlace: false, progress: silentProgress });
  client = connect({ kubeconfig: cluster.kubeconfig });
  await loadReprise(cluster, FIRST_IMAGE);
  await loadReprise(cluster, imageName(NEXT));
  group = TrainingGroup.of(home(), "train", { stages: { workers: 4 } });
  const path = await ensureBinaries(["kubernetes", "helm"], terminalProgress());
  reader = await Console.open({
    tools: { kubectl: path("kubernetes", "kubectl"), helm: path("helm", "helm") },
    kubeconfig: cluster.kubeconfig,
    files: { "train.yaml": stringify(group.manifest) },
    editor: `sed -i -e 's|newName: .*|newName: ${REPOSITORY}|' -e 's|newTag: .*|newTag: ${VERSION}|' "$1"`,
  });
}, 1_200_000);

afterAll(async () => {
  reader?.close();
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

/** Runs the commands of a section that did not run yet. */
async function follow(page: string, section: string): Promise<void> {
  const commands = consoleCommands(page).filter((command) => command.section === section);
  if (commands.length === 0) throw new Error(`${page} has no console block in the section ${section}`);
  for (const { text } of commands) {
    if (done.has(text) || Object.hasOwn(CANNOT_RUN, text)) continue;
    const onLine = UNTIL_CTRL_C[text];
    if (onLine === undefined) await reader.run(text);
    else await reader.watch(text, onLine);
    done.add(text);
  }
}

it("the commands of README.md install reprise, and a plain JobSet recovers in place", async () => {
  await cluster.kubectl(["create", "namespace", NAMESPACE]);
  await follow("README.md", "Try it");
  await follow("README.md", "Install");
  await follow("docs/install.md", "Install");
  const pods = asList((await client.request("GET", `/api/v1/namespaces/${SYSTEM}/pods`))["items"]).map(asMap);
  expect(pods).toHaveLength(4);
  await follow("README.md", "Opt in");
  await group.running();
  expect(new Set(await agentImages("train"))).toEqual(new Set([FIRST_IMAGE]));
  await recovers(group);
  // Nothing is wrong with what was just installed.
  const facts = await readDoctorFacts(client, { now: Date.now(), systemNamespace: SYSTEM, namespace: undefined });
  expect(diagnose(facts).filter(({ grade }) => grade !== "ok")).toEqual([]);
  expect(diagnose(facts).map(({ check }) => check)).toContain("webhook-endpoints");
}, 600_000);

it("the commands of the pages show what reprise does, and restart a group by hand", async () => {
  const { syncedEpoch, pods } = await group.running();
  await follow("README.md", "See what it does");
  const restarted = await group.restartedSince(syncedEpoch);
  expect(restarted.pods.map(({ uid }) => uid)).toEqual(pods.map(({ uid }) => uid));
  expect(restarted.history.at(-1)?.cause).toMatchObject({
    reason: "Requested",
    request: expect.stringMatching(/^loss is NaN/),
  });
  await follow("docs/install.md", "The command line");
}, 300_000);

it("while the certificate is renewed, every JobSet that is applied is injected", async () => {
  const serials = async () => (await certificateLoads()).map((loads) => loads.length);
  const before = await serials();
  const secretBefore = await secretVersion();
  const applied = { during: 0, afterwards: 0 };
  let renewing = true;
  const applies = (async () => {
    while (renewing || applied.afterwards < 20) {
      const answer = await applyDry();
      // The webhooks fail open, so only the label shows that the call succeeded.
      expect(asTextMap(asMap(answer["metadata"])["labels"])[LABEL.injected]).toBe("true");
      applied[renewing ? "during" : "afterwards"] += 1;
    }
  })();
  const renewed = (async () => {
    try {
      await renewCertificate();
      await waitFor("cert-manager has issued", 60_000, async () => (await secretVersion()) !== secretBefore);
      // The kubelet updates a Secret volume when it syncs the Pod: about once a minute, or when the Pod changes.
      await waitFor("every replica serves the new certificate", 180_000, async () => {
        await touchWebhooks();
        const now = await serials();
        return now.length === before.length && now.every((count, index) => count > (before[index] ?? 0));
      });
    } finally {
      renewing = false;
    }
  })();
  await Promise.all([applies, renewed]);
  expect(applied.during).toBeGreaterThan(0);
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
    lastTransitionTime: wholeSeconds(Date.now()),
  };
  const body = { status: { conditions: [...conditions, issuing] } };
  await client.request("PATCH", `${path}/status`, { body, contentType: MERGE_PATCH });
}

async function secretVersion(): Promise<string> {
  const { metadata, data } = await client.request("GET", `/api/v1/namespaces/${SYSTEM}/secrets/reprise-webhook-tls`);
  return asTextMap(data)["tls.crt"] === undefined ? "" : (asText(asMap(metadata)["resourceVersion"]) ?? "");
}

const WEBHOOKS = ["pods", "-n", SYSTEM, "-l", "app.kubernetes.io/component=webhook"] as const;

async function touchWebhooks(): Promise<void> {
  await cluster.kubectl(["annotate", ...WEBHOOKS, "--overwrite", `example.com/touched=${Date.now()}`]);
}

/** The log lines about loaded certificates, for each webhook replica. */
async function certificateLoads(): Promise<readonly (readonly string[])[]> {
  const names = (await cluster.kubectl(["get", ...WEBHOOKS, "-o", "name"])).trim().split("\n");
  const logs = await Promise.all(names.sort().map((name) => cluster.kubectl(["logs", "-n", SYSTEM, name])));
  return logs.map((log) => log.split("\n").filter((line) => line.includes("certificate loaded")));
}

it("an upgrade leaves running JobSets alone; they still recover, and new ones get the new agent", async () => {
  const before = await group.running();
  const generation = await generationOf("train");
  await installReprise(cluster, NEXT);
  const after = await group.running();
  expect(untouched(after)).toEqual(untouched(before));
  expect(await generationOf("train")).toBe(generation);
  await recovers(group);
  expect(new Set(await agentImages("train"))).toEqual(new Set([FIRST_IMAGE]));
  // A terminating replica answers once more on each connection that the API server still holds.
  await waitFor("the old replicas are gone", 150_000, async () => {
    await applyDry();
    const pods = asList((await client.request("GET", `/api/v1/namespaces/${SYSTEM}/pods`))["items"]).map(asMap);
    return pods.every(({ metadata }) => asMap(metadata)["deletionTimestamp"] === undefined);
  });
  const fresh = await TrainingGroup.start(home(), "fresh", { stages: { workers: 1 } });
  await fresh.running();
  expect(await agentImages("fresh")).toEqual([imageName(NEXT)]);
  await fresh.delete();
  await fresh.gone();
}, 600_000);

it("reprise uninstalls with one command: JobSets keep running, no object remains, new JobSets stay plain", async () => {
  const before = await group.running();
  const uninstalled = follow("README.md", "Remove");
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

let helm: Helm;
let charted: TrainingGroup;

it("the Helm chart installs reprise, and a group recovers in place", async () => {
  helm = await helmFor(cluster.kubeconfig);
  await follow("docs/install.md", "With Helm");
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
  const [repository] = imageName(NEXT).split(`:${NEXT}`);
  const values = [
    "--set=webhook.replicas=1,controller.replicas=1,monitoring.dashboard.enabled=true,dashboard.enabled=true",
    setting,
  ];
  const image = `--set=image.repository=${repository},image.tag=${NEXT}`;
  await helm(["upgrade", "reprise", CHART, ...release, image, ...values]);
  const upgraded = await controllerPod();
  expect(upgraded.image).toBe(imageName(NEXT));
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

it("every command in README.md and docs/install.md has run, or cannot run here", async () => {
  await follow("docs/install.md", "Remove");
  const commands = PAGES.flatMap(consoleCommands).map(({ text }) => text);
  expect(commands.length).toBeGreaterThan(20);
  expect(commands.filter((text) => !done.has(text) && !Object.hasOwn(CANNOT_RUN, text))).toEqual([]);
  const listed = Object.keys({ ...CANNOT_RUN, ...UNTIL_CTRL_C });
  expect(listed.filter((text) => !commands.includes(text))).toEqual([]);
  for (const [text, reason] of Object.entries(CANNOT_RUN)) process.stdout.write(`\nnot run: $ ${text}\n  ${reason}\n`);
});
