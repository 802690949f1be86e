// `reprise doctor` on a real API server: green on a good installation, and for each of many broken ones it names the
// check that fails and the fix. Nodes, Deployments and certificates are objects only; the webhook is the real program.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { readDoctorFacts } from "../../src/cli/input/doctor-facts.ts";
import { BundledCli } from "../../src/cli/testing.ts";
import { diagnose } from "../../src/doctor/doctor.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { asMap, asText } from "../../src/json/fields.ts";
import { connect, type KubeClient } from "../../src/kube/client.ts";
import { create, injected } from "../builders/injection.ts";
import { jobSet } from "../builders/jobset.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { applyManifests, buildBundle, createNamespace, registerWebhook, runWebhook } from "../reprise-programs.ts";
import { JOBSET_CRD, olderJobSetDefinition, REPRISE_CRD, withoutField } from "./older-definition.ts";

const SYSTEM = "reprise-system";
const FEATURE = "RestartAllContainersOnContainerExits";

/** OpenAPI documents and admission follow a change within seconds. */
const PATIENCE = { timeout: 30_000, interval: 200 };

async function findings(client: KubeClient): Promise<readonly Finding[]> {
  return diagnose(await readDoctorFacts(client, { now: Date.now(), systemNamespace: SYSTEM, namespace: undefined }));
}

function problems(found: readonly Finding[]): readonly string[] {
  return found
    .filter(({ grade }) => grade !== "ok")
    .map(({ check, grade, message }) => `${grade} ${check}: ${message}`);
}

describe("before the installation, on a Kubernetes that behaves like 1.35", () => {
  let cluster: ControlPlane;
  let cli: BundledCli;

  beforeAll(async () => {
    cluster = await startControlPlane({ apiServerFlags: ["--emulated-version=1.35"] });
    await cluster.kubectl(["create", "serviceaccount", "default"]);
    cli = await BundledCli.build();
  });

  afterAll(async () => {
    await cli?.remove();
    await cluster?.stop();
  });

  it("finds what the cluster lacks, each with its fix, and exits with 1", async () => {
    const { code, stdout, stderr } = await cli.run(["doctor", "-o", "json", "--kubeconfig", cluster.kubeconfig]);
    const found: readonly Finding[] = JSON.parse(stdout).findings;
    expect(found.map(({ check, grade }) => `${grade} ${check}`)).toEqual([
      "fail kubernetes-version",
      "fail restart-rules",
      "warn node-features",
      "fail jobset",
      "fail cert-manager",
      "warn installed",
    ]);
    expect(found.every(({ fix, docs }) => fix !== undefined && docs.startsWith("docs/doctor.md#"))).toBe(true);
    expect(stderr).toMatch(/^reprise: failed: kubernetes-version, restart-rules, jobset, cert-manager; /);
    expect(code).toBe(1);
  });
});

describe("after the installation", () => {
  let cluster: ControlPlane;
  let client: KubeClient;

  beforeAll(async () => {
    cluster = await startControlPlane();
    client = connect({ kubeconfig: cluster.kubeconfig });
    await cluster.kubectl(["apply", "--server-side", "-f", JOBSET_CRD]);
    await applyManifests(cluster.kubectl);
    await applyDeployments();
    await cluster.kubectl(["apply", "-f", "-"], { input: crds().join("---\n") });
    for (const crd of ["certificates.cert-manager.io", "localqueues.kueue.x-k8s.io", "clusterqueues.kueue.x-k8s.io"]) {
      await cluster.kubectl(["wait", `crd/${crd}`, "--for=create", "--timeout=10s"]);
      await cluster.kubectl(["wait", `crd/${crd}`, "--for=condition=Established", "--timeout=30s"]);
    }
    await createNode("node-1");
    await createNode("node-2");
    await createNamespace(cluster.kubectl, "team");
    await cluster.kubectl(["create", "serviceaccount", "default", "-n", "team"]);
    await vi.waitFor(() => apply(certificate({})), PATIENCE);
    await apply(lease(new Date()));
    const folder = join(cluster.folder, "webhook");
    const home = { folder, runner: cluster, address: "127.0.0.1", kubeconfig: cluster.kubeconfig };
    await registerWebhook(cluster.kubectl, await runWebhook(home, await buildBundle(home)));
  }, 120_000);

  afterAll(async () => {
    await client?.close();
    await cluster?.stop();
  });

  const apply = (...objects: readonly object[]) =>
    cluster.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], {
      input: objects.map((each) => stringify(each)).join("---\n"),
    });

  async function applyDeployments(): Promise<void> {
    const rendered = parseAllDocuments(await cluster.kubectl(["kustomize", "manifests/default"]));
    const deployments = rendered.map((document) => asMap(document.toJS())).filter(({ kind }) => kind === "Deployment");
    await apply(...deployments);
    for (const { metadata } of deployments) await setAvailable(asText(asMap(metadata)["name"]) ?? "", 2);
  }

  async function setAvailable(name: string, availableReplicas: number): Promise<void> {
    const status = { replicas: 2, readyReplicas: availableReplicas, availableReplicas };
    const patch = ["--subresource=status", "--type=merge", "-p", JSON.stringify({ status })];
    await cluster.kubectl(["patch", "deployment", name, "-n", SYSTEM, ...patch]);
  }

  /** A kubelet would write this. */
  async function createNode(name: string): Promise<void> {
    await apply({ apiVersion: "v1", kind: "Node", metadata: { name } });
    await setNode(name, "containerd://2.1.0", [FEATURE]);
  }

  async function setNode(name: string, runtime: string, declaredFeatures: readonly string[]): Promise<void> {
    const nodeInfo = {
      machineID: "m",
      systemUUID: "s",
      bootID: "b",
      kernelVersion: "6",
      osImage: "linux",
      containerRuntimeVersion: runtime,
      kubeletVersion: "v1.36.0",
      kubeProxyVersion: "",
      operatingSystem: "linux",
      architecture: "amd64",
    };
    const patch = JSON.stringify({ status: { nodeInfo, declaredFeatures } });
    await cluster.kubectl(["patch", "node", name, "--subresource=status", "--type=merge", "-p", patch]);
  }

  /** The object without what the API server added. */
  async function saved(kind: string, name: string): Promise<object> {
    const object = asMap(JSON.parse(await cluster.kubectl(["get", kind, name, "-o", "json"])));
    const { labels, annotations } = asMap(object["metadata"]);
    return { ...object, metadata: { name, labels, annotations } };
  }

  /** Deletes a cluster-wide object; returns how to create it again. */
  async function without(kind: string, name: string): Promise<() => Promise<unknown>> {
    const object = await saved(kind, name);
    await cluster.kubectl(["delete", kind, name]);
    return () => apply(object);
  }

  /** Patches a cluster-wide object; returns how to undo it. */
  async function patched(kind: string, name: string, patch: object): Promise<() => Promise<unknown>> {
    const object = await saved(kind, name);
    await cluster.kubectl(["patch", kind, name, "--type=json", "-p", JSON.stringify([patch])]);
    return async () => {
      await cluster.kubectl(["delete", kind, name]);
      await apply(object);
    };
  }

  async function applied(object: object, mended: object): Promise<() => Promise<unknown>> {
    await apply(object);
    return () => apply(mended);
  }

  /** Creates objects; returns how to delete them. */
  async function added(...objects: readonly object[]): Promise<() => Promise<unknown>> {
    const input = objects.map((each) => stringify(each)).join("---\n");
    await cluster.kubectl(["create", "-f", "-"], { input });
    return () => cluster.kubectl(["delete", "-f", "-"], { input });
  }

  it("finds nothing wrong with a good installation", async () => {
    await vi.waitFor(async () => expect(problems(await findings(client))).toEqual([]), PATIENCE);
    const checks = new Set((await findings(client)).map(({ check }) => check));
    // The webhook is registered by URL, so there is no Service to look at.
    expect([...checks]).toEqual([
      "kubernetes-version",
      "restart-rules",
      "node-features",
      "container-runtimes",
      "jobset",
      "cert-manager",
      "crd",
      "deployments",
      "leader",
      "rights",
      "agent-roles",
      "admission-policies",
      "certificate",
      "authority",
      "webhook-registered",
      "webhook-answers",
      "versions",
      "namespaces",
      "not-injected",
      "groups",
      "queues",
    ]);
  });

  const CA = "/webhooks/0/clientConfig";
  const plain = () => jobSet("plain").metadata({ namespace: "team" }).replicatedJob("workers", { pods: 2 });

  it.each<[string, () => Promise<() => Promise<unknown>>, string, RegExp, RegExp]>([
    [
      "a node whose kubelet does not declare the feature",
      async () => {
        await setNode("node-2", "containerd://2.1.0", []);
        return () => setNode("node-2", "containerd://2.1.0", [FEATURE]);
      },
      "warn node-features",
      /^1 of 2 Linux nodes do not declare .*: node-2 \(kubelet v1\.36\.0\)$/,
      /^upgrade their kubelets/,
    ],
    [
      "a node with another container runtime",
      async () => {
        await setNode("node-2", "docker://28.0.0", [FEATURE]);
        return () => setNode("node-2", "containerd://2.1.0", [FEATURE]);
      },
      "warn container-runtimes",
      /node-2 \(docker:\/\/28\.0\.0\)$/,
      /^keep JobSets off these nodes$/,
    ],
    [
      "a JobSet CRD that drops the restart rules",
      async () => {
        await cluster.kubectl(["apply", "--server-side", "-f", "-"], { input: olderJobSetDefinition() });
        return () => cluster.kubectl(["apply", "--server-side", "-f", JOBSET_CRD]);
      },
      "fail jobset",
      /the JobSet CRD has no spec\.replicatedJobs.*restartPolicyRules/,
      /^kubectl apply --server-side -f https:.*jobset/,
    ],
    [
      "a CRD of an earlier reprise",
      async () => {
        const input = withoutField(REPRISE_CRD, "handledRequests");
        await cluster.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], { input });
        return () => cluster.kubectl(["apply", "--server-side", "--force-conflicts", "-f", REPRISE_CRD]);
      },
      "fail crd",
      /older than this program: it has no status\.handledRequests$/,
      /^kubectl apply --server-side -k manifests\/crd$/,
    ],
    [
      "a mutating webhook without a caBundle",
      () => patched("mutatingwebhookconfiguration", "reprise-webhook", { op: "remove", path: `${CA}/caBundle` }),
      "fail webhook-registered",
      /^MutatingWebhookConfiguration reprise-webhook has no caBundle, so no JobSet is injected$/,
      /^kubectl describe certificate -n reprise-system/,
    ],
    [
      "a caBundle of another authority",
      async () => {
        const value = Buffer.from(cluster.credentials.authority.cert).toString("base64");
        const patch = { op: "replace", path: `${CA}/caBundle`, value };
        return patched("mutatingwebhookconfiguration", "reprise-webhook", patch);
      },
      "fail webhook-answers",
      /^a dry-run JobSet in namespace team comes back without injection: .*mutating webhook was not called/,
      /^kubectl logs -n reprise-system deployment\/reprise-webhook$/,
    ],
    [
      "a webhook that does not answer",
      () => {
        const patch = { op: "replace", path: `${CA}/url`, value: "https://127.0.0.1:1/mutate" };
        return patched("mutatingwebhookconfiguration", "reprise-webhook", patch);
      },
      "fail webhook-answers",
      /comes back without injection/,
      /^kubectl logs/,
    ],
    [
      "a Service without a ready Pod",
      () => {
        const service = { namespace: SYSTEM, name: "reprise-webhook", path: "/mutate" };
        const value = { service, caBundle: Buffer.from(cluster.credentials.authority.cert).toString("base64") };
        return patched("mutatingwebhookconfiguration", "reprise-webhook", { op: "replace", path: CA, value });
      },
      "fail webhook-endpoints",
      /^no Pod of the webhook is ready/,
      /^kubectl get pods -n reprise-system -l app.kubernetes.io\/component=webhook$/,
    ],
    [
      "no mutating webhook",
      () => without("mutatingwebhookconfiguration", "reprise-webhook"),
      "fail webhook-registered",
      /^there is no MutatingWebhookConfiguration reprise-webhook, so no JobSet is injected$/,
      /^kubectl apply --server-side -k manifests\/default$/,
    ],
    [
      "no validating webhook",
      () => without("validatingwebhookconfiguration", "reprise-webhook"),
      "fail webhook-registered",
      /^there is no ValidatingWebhookConfiguration reprise-webhook, so no JobSet is checked$/,
      /^kubectl apply/,
    ],
    [
      "a certificate that expires and is not renewed",
      () => applied(certificate({ days: 3 }), certificate({})),
      "warn certificate",
      /^the certificate of the webhook expires on .*, and was not renewed$/,
      /^cmctl renew -n reprise-system reprise-webhook$/,
    ],
    [
      "a certificate that has expired",
      () => applied(certificate({ days: -1 }), certificate({})),
      "fail certificate",
      /^the certificate of the webhook has expired/,
      /^cmctl renew/,
    ],
    [
      "a certificate that is not issued",
      () => applied(certificate({ ready: "False" }), certificate({})),
      "fail certificate",
      /is not issued: the issuer is not ready$/,
      /^kubectl describe certificate/,
    ],
    [
      "a controller without rights",
      () => without("clusterrolebinding", "reprise-controller"),
      "fail rights",
      /^account reprise-controller may not: list jobsets\.jobset\.x-k8s\.io, .* and \d+ more$/,
      /^kubectl apply/,
    ],
    [
      "no role for agents",
      () => without("clusterrole", "reprise-agent-writer"),
      "fail agent-roles",
      /^there is no ClusterRole reprise-agent-writer/,
      /^kubectl apply/,
    ],
    [
      "no admission policy for Pods",
      () => without("validatingadmissionpolicy", "reprise-pods"),
      "fail admission-policies",
      /^there is no ValidatingAdmissionPolicy reprise-pods$/,
      /^kubectl apply/,
    ],
    [
      "an admission policy that only audits",
      () => {
        const patch = { op: "replace", path: "/spec/validationActions", value: ["Audit"] };
        return patched("validatingadmissionpolicybinding", "reprise-members", patch);
      },
      "fail admission-policies",
      /^no ValidatingAdmissionPolicyBinding reprise-members lets policy reprise-pods deny$/,
      /^kubectl apply/,
    ],
    [
      "no leader",
      () => applied(lease(new Date(0)), lease(new Date())),
      "fail leader",
      /^no controller leads: pod-1 last renewed the Lease at 1970/,
      /^kubectl logs -n reprise-system deployment\/reprise-controller$/,
    ],
    [
      "a controller without a replica",
      async () => {
        await setAvailable("reprise-controller", 0);
        return () => setAvailable("reprise-controller", 2);
      },
      "fail deployments",
      /^reprise-controller: 0 of 2 replicas are available$/,
      /^kubectl describe pods -n reprise-system -l app.kubernetes.io\/component=controller$/,
    ],
    [
      "another image for the controller",
      async () => {
        const image = (name: string) =>
          cluster.kubectl(["set", "image", "deployment/reprise-controller", "-n", SYSTEM, name]);
        await image("controller=reprise:0.0.9");
        return () => image("controller=reprise:0.1.0");
      },
      "warn versions",
      /^the webhook runs reprise:0\.1\.0 and the controller reprise:0\.0\.9$/,
      /^set one image in kustomization.yaml/,
    ],
    [
      "a namespace whose label has another value",
      async () => {
        const label = (text: string) => cluster.kubectl(["label", "namespace", "default", text]);
        await label("reprise.dev/injection=true");
        return () => label("reprise.dev/injection-");
      },
      "warn namespaces",
      /^namespace default has reprise\.dev\/injection=true, which has no effect$/,
      /^kubectl label namespace default --overwrite reprise\.dev\/injection=enabled$/,
    ],
    [
      "a JobSet that was created while the webhook was down",
      async () => {
        const register = await without("mutatingwebhookconfiguration", "reprise-webhook");
        const remove = await added(plain().build());
        await register();
        return remove;
      },
      "warn not-injected",
      /^opted in and created without injection: team\/plain$/,
      /^delete each one and apply it again/,
    ],
    [
      "a group that is stalled",
      async () => {
        const metadata = { name: "stuck", namespace: "team" };
        const object = {
          apiVersion: "reprise.dev/v1alpha1",
          kind: "InPlaceRestart",
          metadata,
          spec: { jobSetUID: "u" },
        };
        const remove = await added(object);
        const lastTransitionTime = new Date().toISOString();
        const message = "1 missing: train-0 (Unschedulable)";
        const stalled = { type: "Stalled", status: "True", reason: "PodsMissing", message, lastTransitionTime };
        const status = { deprecatedEpoch: 0, syncedEpoch: 0, phase: "Starting", conditions: [stalled] };
        const patch = ["--subresource=status", "--type=merge", "-p", JSON.stringify({ status })];
        await cluster.kubectl(["patch", "inplacerestart", "stuck", "-n", "team", ...patch]);
        return remove;
      },
      "warn groups",
      /^group team\/stuck is stalled: 1 missing: train-0 \(Unschedulable\)$/,
      /^reprise status stuck -n team$/,
    ],
    [
      "a queue that does not cover the agents",
      async () => {
        const requests = { cpu: "1", "example.com/gpu": "1" };
        const container = { name: "train", image: "x", resources: { requests, limits: { "example.com/gpu": "1" } } };
        const queued = injected(
          create(
            jobSet("queued")
              .replicatedJob("w", { pods: 1, containers: [container] })
              .build(),
          ),
        );
        const labels = { "reprise.dev/injected": "true", "kueue.x-k8s.io/queue-name": "gpus" };
        const annotations = asMap(asMap(queued)["metadata"])["annotations"];
        return added(
          queue("LocalQueue", "gpus", { clusterQueue: "pool" }, "team"),
          queue("ClusterQueue", "pool", { resourceGroups: [{ coveredResources: ["example.com/gpu"] }] }),
          { ...queued, metadata: { name: "queued", namespace: "team", labels, annotations } },
        );
      },
      "warn queues",
      /^the agents of JobSet team\/queued request cpu.*, which ClusterQueue pool does not cover$/,
      /^kubectl edit clusterqueue pool/,
    ],
  ])(
    "names %s, and its fix",
    async (_, breakIt, check, message, fix) => {
      const mend = await breakIt();
      try {
        await vi.waitFor(async () => {
          const found = await findings(client);
          const broken = found.filter((each) => `${each.grade} ${each.check}` === check);
          expect(broken, problems(found).join("\n")).toContainEqual(
            expect.objectContaining({ message: expect.stringMatching(message), fix: expect.stringMatching(fix) }),
          );
        }, PATIENCE);
      } finally {
        await mend();
      }
    },
    60_000,
  );

  it("is green again when all of it is mended, and says so in one line", async () => {
    await vi.waitFor(async () => expect(problems(await findings(client))).toEqual([]), PATIENCE);
    const cli = await BundledCli.build();
    const { code, stdout, stderr } = await cli.run(["doctor", "--kubeconfig", cluster.kubeconfig]);
    const versions = await cli.run(["version", "--server", "-o", "json", "--kubeconfig", cluster.kubeconfig]);
    await cli.remove();
    const images = { "reprise-controller": "reprise:0.1.0", "reprise-webhook": "reprise:0.1.0" };
    expect(JSON.parse(versions.stdout)).toMatchObject({ client: { version: "0.1.0" }, server: { images } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^all \d+ findings are ok$/);
    expect(stdout).toMatch(/^ok {4}webhook-answers +a dry-run JobSet in namespace team comes back injected$/m);
  });

  it("reports what the user may not read as unknown, and does not fail for it", async () => {
    await cluster.kubectl(["create", "serviceaccount", "guest", "-n", "team"]);
    const token = (await cluster.kubectl(["create", "token", "guest", "-n", "team"])).trim();
    const cli = await BundledCli.build();
    const config = {
      "current-context": "guest",
      clusters: [{ name: "c", cluster: { server: cluster.server, "insecure-skip-tls-verify": true } }],
      users: [{ name: "guest", user: { token } }],
      contexts: [{ name: "guest", context: { cluster: "c", user: "guest", namespace: "team" } }],
    };
    const kubeconfig = await cli.file("guest.kubeconfig", JSON.stringify(config));
    const { code, stdout } = await cli.run(["doctor", "-n", "team", "--kubeconfig", kubeconfig]);
    await cli.remove();
    expect(stdout).toMatch(/^warn {2}node-features +unknown: you may not read nodes: /m);
    expect(stdout).toMatch(/^warn {2}webhook-answers +unknown: you may not create JobSets in namespace team$/m);
    expect(code).toBe(0);
  });
});

function crds(): readonly string[] {
  return [
    crd("cert-manager.io", "v1", "Certificate", "Namespaced"),
    crd("kueue.x-k8s.io", "v1beta1", "LocalQueue", "Namespaced"),
    crd("kueue.x-k8s.io", "v1beta1", "ClusterQueue", "Cluster"),
  ].map((each) => stringify(each));
}

/** A CRD that keeps every field. */
function crd(group: string, version: string, kind: string, scope: string): object {
  const plural = `${kind.toLowerCase()}s`;
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${group}`,
      annotations: { "api-approved.kubernetes.io": "unapproved, for a test" },
    },
    spec: {
      group,
      scope,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
}

function certificate({ days = 60, ready = "True" }: { readonly days?: number; readonly ready?: string }): object {
  const message = ready === "True" ? "" : "the issuer is not ready";
  const notAfter = new Date(Date.now() + days * 86_400_000).toISOString();
  return {
    apiVersion: "cert-manager.io/v1",
    kind: "Certificate",
    metadata: { name: "reprise-webhook", namespace: SYSTEM },
    status: { notAfter, conditions: [{ type: "Ready", status: ready, message }] },
  };
}

function lease(renewed: Date): object {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "reprise-controller", namespace: SYSTEM },
    spec: {
      holderIdentity: "pod-1",
      leaseDurationSeconds: 3600,
      renewTime: renewed.toISOString().replace("Z", "000Z"),
    },
  };
}

function queue(kind: string, name: string, spec: object, namespace?: string): object {
  return { apiVersion: "kueue.x-k8s.io/v1beta1", kind, metadata: { name, namespace }, spec };
}
