// reprise's own programs, as built for users, run as processes beside a test's control plane or cluster.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { bundleCli } from "../scripts/bundle.ts";
import { freePorts } from "./cluster/control-plane.ts";
import type { Kubectl } from "./cluster/kubectl.ts";
import { createAuthority } from "./cluster/pki.ts";
import { type ProgramRunner, type RunningProgram, waitUntilReady } from "./cluster/processes.ts";

export interface Home {
  /** Where the bundle, the config file and certificates go. */
  readonly folder: string;
  readonly runner: ProgramRunner;
  /** The address at which the API server reaches this process. */
  readonly address: string;
  /** For a webhook that asks the cluster what it is able to do. */
  readonly kubeconfig?: string;
}

export interface ServedWebhook {
  readonly program: RunningProgram;
  readonly url: string;
  /** Serves /readyz and /metrics. */
  readonly healthUrl: string;
  readonly caBundle: string;
}

/** Builds the bundle once for all programs of a home. */
export async function buildBundle({ folder }: Home): Promise<string> {
  mkdirSync(folder, { recursive: true });
  await bundleCli(folder);
  return join(folder, "reprise.js");
}

export async function runWebhook(
  home: Home,
  bundle: string,
  injection: Readonly<Record<string, unknown>> = {},
): Promise<ServedWebhook> {
  const { folder, address } = home;
  const [port, healthPort] = await freePorts();
  const authority = createAuthority("reprise webhooks");
  const pair = authority.issue({ commonName: "reprise-webhook", ipAddresses: [address] });
  writeFileSync(join(folder, "tls.crt"), pair.cert);
  writeFileSync(join(folder, "tls.key"), pair.key);
  const config = join(folder, "webhook.yaml");
  writeFileSync(config, stringify({ webhook: { port, healthPort, certDir: folder }, injection }));
  const program = await home.runner.run("reprise-webhook", [
    process.execPath,
    bundle,
    "webhook",
    `--config=${config}`,
    "--log-level=debug",
    ...(home.kubeconfig === undefined ? [] : [`--kubeconfig=${home.kubeconfig}`]),
  ]);
  const healthUrl = `http://127.0.0.1:${healthPort}`;
  await waitUntilReady(program, 30_000, async () => (await fetch(`${healthUrl}/readyz`)).ok);
  const caBundle = Buffer.from(authority.cert).toString("base64");
  return { program, url: `https://${address}:${port}`, healthUrl, caBundle };
}

/** What `manifests/webhook` registers, with the Service replaced by where the program listens here. */
export async function registerWebhook(kubectl: Kubectl, { url, caBundle }: ServedWebhook): Promise<void> {
  const rendered = await kubectl(["kustomize", new URL("../manifests/webhook", import.meta.url).pathname]);
  const configurations = parseAllDocuments(rendered)
    .map((document) => document.toJS() as WebhookConfiguration)
    .filter(({ kind }) => kind.endsWith("WebhookConfiguration"));
  for (const webhook of configurations.flatMap(({ webhooks }) => webhooks)) {
    webhook.clientConfig = { url: `${url}${webhook.clientConfig.service?.path}`, caBundle };
  }
  await kubectl(["apply", "-f", "-"], { input: configurations.map((one) => stringify(one)).join("---\n") });
}

interface WebhookConfiguration {
  readonly kind: string;
  readonly webhooks: { clientConfig: { service?: { path: string }; url?: string; caBundle?: string } }[];
}

/** A namespace whose JobSets are injected. */
export async function createNamespace(
  kubectl: Kubectl,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  const metadata = { name, labels: { "reprise.dev/injection": "enabled", ...labels } };
  await kubectl(["apply", "-f", "-"], { input: JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata }) });
}

/** The controller, with the rights that its manifests give it and no others. */
export async function runController(
  home: Home,
  bundle: string,
  kubectl: Kubectl,
  server: Server,
): Promise<RunningProgram> {
  const [healthPort] = await freePorts();
  const config = join(home.folder, "controller.yaml");
  writeFileSync(config, stringify({ controller: { healthPort } }));
  const account = ["serviceaccount", "reprise-controller", "-n", "reprise-system"];
  await kubectl(["wait", ...account, "--for=create", "--timeout=10s"]);
  const token = await kubectl(["create", "token", "reprise-controller", "-n", "reprise-system", "--duration=8h"]);
  const kubeconfig = join(home.folder, "controller.kubeconfig");
  writeFileSync(kubeconfig, tokenKubeconfig(server, token.trim()), { mode: 0o600 });
  const program = await home.runner.run("reprise-controller", [
    process.execPath,
    bundle,
    "controller",
    `--config=${config}`,
    `--kubeconfig=${kubeconfig}`,
    "--log-level=debug",
  ]);
  await waitUntilReady(program, 30_000, async () => (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).ok);
  return program;
}

export interface Server {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
}

function tokenKubeconfig({ url, ca }: Server, token: string): string {
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "test", cluster: { server: url, "certificate-authority-data": Buffer.from(ca).toString("base64") } },
    ],
    users: [{ name: "test", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    "current-context": "test",
  });
}

/** Everything of `manifests/default` that is not a workload or needs cert-manager: CRD, rights, policies, flow control. */
export async function applyManifests(kubectl: Kubectl): Promise<void> {
  const rendered = await kubectl(["kustomize", new URL("../manifests/default", import.meta.url).pathname]);
  const left = new Set(["Deployment", "Service", "PodDisruptionBudget", "Certificate", "Issuer"]);
  const manifests = parseAllDocuments(rendered)
    .map((document) => document.toJS() as { kind: string })
    .filter(({ kind }) => !left.has(kind) && !kind.endsWith("WebhookConfiguration"));
  // Namespaces and definitions first, then what lives in them.
  const isFirst = ({ kind }: { kind: string }) => kind === "Namespace" || kind === "CustomResourceDefinition";
  for (const batch of [manifests.filter(isFirst), manifests.filter((one) => !isFirst(one))]) {
    await kubectl(["apply", "--server-side", "-f", "-"], { input: batch.map((one) => stringify(one)).join("---\n") });
  }
  await kubectl(["wait", "crd/inplacerestarts.reprise.dev", "--for=condition=Established", "--timeout=30s"]);
}
