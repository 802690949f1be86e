// Gatekeeper changes the same JobSets and Pods as reprise, which then restart in place on real kubelets.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { AGENT } from "../../src/api/names.ts";
import { asList, asMap } from "../../src/json/fields.ts";
import { assetFolder, ensureBinaries } from "../cluster/binaries.ts";
import { createAuthority } from "../cluster/pki.ts";
import { waitFor } from "../cluster/proc.ts";
import { childRunner, type RunningProgram, waitUntilReady } from "../cluster/processes.ts";
import { terminalProgress } from "../cluster/progress.ts";
import { slot } from "../cluster/slot.ts";
import { type GroupShape, TrainingGroup } from "../e2e/group.ts";
import { type Installation, install } from "../e2e/reprise.ts";
import { freePort } from "../free-port.ts";
import { createNamespace } from "../reprise-programs.ts";
import { definitionsEstablished } from "./definitions.ts";
import { deployedJobSet } from "./deployed-jobset.ts";
import { BUSYBOX, firstOf, namesIn, podSpec, restart } from "./webhook-effects.ts";

const TIMEOUT_MS = 60_000;
const SHAPE: GroupShape = { stages: { workers: 2 } };

let installation: Installation;
let address: string;

beforeAll(async () => {
  installation = await install();
  address = slot(installation.cluster.record.slot).hostAddress;
});

afterAll(async () => {
  await installation?.end();
});

/** The initContainers of the JobSet's template, in order. */
async function templateOrder(namespace: string, name: string): Promise<readonly unknown[]> {
  const { spec } = await deployedJobSet(installation.kubectl, namespace, name);
  const job = asMap(asList(asMap(spec)["replicatedJobs"])[0]);
  const pod = asMap(asMap(asMap(asMap(asMap(job["template"])["spec"])["template"])["spec"]));
  return asList(pod["initContainers"]).map((container) => asMap(container)["name"]);
}

describe("Gatekeeper", () => {
  let folder: string;
  let program: RunningProgram | undefined;

  beforeAll(async () => {
    const binaries = await ensureBinaries(["gatekeeper"], terminalProgress());
    folder = mkdtempSync(join(tmpdir(), "reprise-gatekeeper-"));
    const { kubectl } = installation;
    const manifests = parseAllDocuments(readFileSync(join(assetFolder("gatekeeper"), "gatekeeper.yaml"), "utf8"))
      .map((document) => document.toJS() as Manifest)
      .filter(({ kind }) => ["Namespace", "CustomResourceDefinition", "MutatingWebhookConfiguration"].includes(kind));
    const isConfiguration = ({ kind }: Manifest) => kind === "MutatingWebhookConfiguration";
    const definitions = manifests.filter((one) => !isConfiguration(one));
    await kubectl(["apply", "--server-side", "-f", "-"], { input: yaml(definitions) });
    await definitionsEstablished(kubectl);

    const authority = createAuthority("gatekeeper");
    const pair = authority.issue({ commonName: "gatekeeper", ipAddresses: [address] });
    writeFileSync(join(folder, "tls.crt"), pair.cert);
    writeFileSync(join(folder, "tls.key"), pair.key);
    const [port, health, metrics] = [await freePort(), await freePort(), await freePort()];
    program = await childRunner(folder).run("gatekeeper", [
      "env",
      "POD_NAMESPACE=gatekeeper-system",
      `KUBECONFIG=${installation.cluster.kubeconfig}`,
      binaries("gatekeeper", "gatekeeper"),
      "--debug-use-fake-pod",
      "--disable-cert-rotation",
      "--operation=webhook",
      "--operation=mutation-webhook",
      "--operation=mutation-controller",
      "--operation=mutation-status",
      "--operation=status",
      `--cert-dir=${folder}`,
      `--host=${address}`,
      `--port=${port}`,
      `--health-addr=127.0.0.1:${health}`,
      `--prometheus-port=${metrics}`,
      "--log-mutations",
      "--mutation-annotations",
    ]);
    await kubectl(["apply", "-f", "-"], { input: yaml(POLICIES) });
    await waitUntilReady(program, TIMEOUT_MS, async () => (await fetch(`http://127.0.0.1:${health}/readyz`)).ok);

    // The same webhook under two names, one before reprise's and one after it, for a namespace each.
    for (const [name, namespace] of Object.entries(ORDER)) {
      await createNamespace(kubectl, namespace);
      const [configuration] = manifests.filter(isConfiguration).map((one) => structuredClone(one));
      if (configuration === undefined) throw new Error("Gatekeeper has no mutating webhook");
      configuration.metadata.name = name;
      for (const webhook of configuration.webhooks ?? []) {
        const path = webhook.clientConfig.service?.path ?? "";
        const caBundle = Buffer.from(authority.cert).toString("base64");
        webhook.clientConfig = { url: `https://${address}:${port}${path}`, caBundle };
        webhook.namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
        webhook.failurePolicy = "Fail";
      }
      await kubectl(["apply", "-f", "-"], { input: stringify(configuration) });
    }
    await waitFor("Gatekeeper mutates", TIMEOUT_MS, async () => {
      const pod = { ...PROBE, metadata: { name: "probe", namespace: "gatekeeper-first" } };
      const shown = await kubectl(["create", "--dry-run=server", "-o", "json", "-f", "-"], { input: stringify(pod) });
      return namesIn(asMap(asMap(JSON.parse(shown))["spec"])["initContainers"]).includes("recorder");
    });
  });

  afterAll(async () => {
    await program?.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  describe.each(Object.entries(ORDER))("as %s", (_, namespace) => {
    let group: TrainingGroup;

    test("its changes of the JobSet stay, and the agent is first", async () => {
      group = await TrainingGroup.start({ ...installation, namespace }, "train", SHAPE);
      expect(await templateOrder(namespace, "train")).toEqual([AGENT.container, "fetch"]);
      await group.running();
    });

    test("its changes of the Pods stay: a native sidecar behind the agent, and security settings", async () => {
      const spec = await podSpec(installation.kubectl, namespace, firstOf(await group.running()));
      expect(namesIn(spec["initContainers"])).toEqual([AGENT.container, "fetch", "recorder"]);
      expect(asMap(asList(spec["containers"])[0])).toMatchObject({
        env: expect.arrayContaining([{ name: "TEAM", value: "ml" }]),
        securityContext: { allowPrivilegeEscalation: false },
      });
    });

    test("the group restarts in place, with Gatekeeper's sidecar", async () => {
      const before = await group.running();
      const after = await restart(group);
      for (const [index, pod] of after.pods.entries()) {
        expect(pod.containers["recorder"]).toMatchObject({ running: true });
        expect(pod.containers["recorder"]?.id).not.toBe(before.pods[index]?.containers["recorder"]?.id);
      }
    });

    test("the plain JobSet can be applied ten times, and nothing changes", async () => {
      await group.apply({});
      const before = await deployedJobSet(installation.kubectl, namespace, "train");
      for (let time = 0; time < 10; time += 1) await group.apply({});
      expect(await deployedJobSet(installation.kubectl, namespace, "train")).toEqual(before);
      expect(before.generation).toBe(1);
    });

    test("the group can be suspended and resumed", async () => {
      await group.suspend(true);
      await group.gone();
      await group.suspend(false);
      await group.running();
      expect(await templateOrder(namespace, "train")).toEqual([AGENT.container, "fetch"]);
    });
  });
});

/** Webhooks are called in the order of the names of their configurations; reprise's is reprise-webhook. */
const ORDER = {
  "gatekeeper-mutating-webhook-configuration": "gatekeeper-first",
  "zz-gatekeeper-mutating-webhook-configuration": "gatekeeper-last",
} as const;

interface Manifest {
  readonly kind: string;
  readonly metadata: { name: string };
  readonly webhooks?: {
    clientConfig: { service?: { path: string }; url?: string; caBundle?: string };
    namespaceSelector: object;
    failurePolicy: string;
  }[];
}

const yaml = (objects: readonly object[]): string => objects.map((object) => stringify(object)).join("---\n");

const POD = { groups: [""], versions: ["v1"], kinds: ["Pod"] };
const JOBSET = { groups: ["jobset.x-k8s.io"], versions: ["v1alpha2"], kinds: ["JobSet"] };
const POD_TEMPLATE = "spec.replicatedJobs[name:*].template.spec.template.spec";

/** What platform teams add by policy. */
const POLICIES = [
  assign("team", JOBSET, `${POD_TEMPLATE}.containers[name:*].env[name:TEAM].value`, "ml"),
  assign("fetch", JOBSET, `${POD_TEMPLATE}.initContainers[name:fetch]`, {
    name: "fetch",
    image: BUSYBOX,
    command: ["true"],
  }),
  assign("recorder", POD, "spec.initContainers[name:recorder]", {
    name: "recorder",
    image: BUSYBOX,
    command: ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.3; done"],
    restartPolicy: "Always",
  }),
  assign("workers", POD, "spec.containers[name:*].securityContext.allowPrivilegeEscalation", false),
  assign("init-containers", POD, "spec.initContainers[name:*].securityContext.allowPrivilegeEscalation", false),
];

function assign(name: string, applyTo: object, location: string, value: unknown): object {
  return {
    apiVersion: "mutations.gatekeeper.sh/v1",
    kind: "Assign",
    metadata: { name },
    spec: {
      applyTo: [applyTo],
      match: { scope: "Namespaced", namespaces: Object.values(ORDER) },
      location,
      parameters: { assign: { value } },
    },
  };
}

const PROBE = { apiVersion: "v1", kind: "Pod", spec: { containers: [{ name: "probe", image: BUSYBOX }] } };
