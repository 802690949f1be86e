// Runs reprise's bundle as processes beside a test's control plane or cluster.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { parseAllDocuments, stringify } from "yaml";
import { bundleCli } from "../scripts/bundle.ts";
import type { Kubectl } from "./cluster/kubectl.ts";
import { createAuthority } from "./cluster/pki.ts";
import { type ProgramRunner, type RunningProgram, waitUntilReady } from "./cluster/processes.ts";
import { freePort } from "./free-port.ts";

export interface Home {
  /** The folder for the bundle, the config file and certificates. */
  readonly folder: string;
  readonly runner: ProgramRunner;
  /** The address at which the API server reaches this process. */
  readonly address: string;
  /** For a webhook that checks the prerequisites of the cluster. */
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

/** With `access` it reads the failure policies of namespaces, with only the permissions from its manifests. */
export async function runWebhook(
  home: Home,
  bundle: string,
  injection: Readonly<Record<string, unknown>> = {},
  access?: Access,
): Promise<ServedWebhook> {
  const { folder, address } = home;
  const [port, healthPort] = [await freePort(), await freePort()];
  const authority = createAuthority("reprise webhooks");
  const pair = authority.issue({ commonName: "reprise-webhook", ipAddresses: [address] });
  writeFileSync(join(folder, "tls.crt"), pair.cert);
  writeFileSync(join(folder, "tls.key"), pair.key);
  const config = join(folder, "webhook.yaml");
  const namespacedPolicies = access === undefined ? "disabled" : "enabled";
  const account =
    access === undefined ? [] : [`--kubeconfig=${await accountKubeconfig(home, "reprise-webhook", access)}`];
  writeFileSync(config, stringify({ webhook: { port, healthPort, certDir: folder, namespacedPolicies }, injection }));
  const program = await home.runner.run("reprise-webhook", [
    process.execPath,
    bundle,
    "webhook",
    `--config=${config}`,
    ...account,
    "--log-level=debug",
    ...(home.kubeconfig === undefined ? [] : [`--kubeconfig=${home.kubeconfig}`]),
  ]);
  const healthUrl = `http://127.0.0.1:${healthPort}`;
  await waitUntilReady(program, 30_000, async () => (await fetch(`${healthUrl}/readyz`)).ok);
  const caBundle = Buffer.from(authority.cert).toString("base64");
  return { program, url: `https://${address}:${port}`, healthUrl, caBundle };
}

/** Registers `manifests/webhook`, with the URL of the program instead of the Service. */
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

/** Creates a namespace with injection enabled. */
export async function createNamespace(
  kubectl: Kubectl,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  const metadata = { name, labels: { "reprise.dev/injection": "enabled", ...labels } };
  await kubectl(["apply", "-f", "-"], { input: JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata }) });
}

/** Settings of the controller that differ from the defaults. */
export interface ControllerConfig {
  readonly controller?: Readonly<Record<string, unknown>>;
  readonly stuckPods?: Readonly<Record<string, unknown>>;
  /** The name of the program, if more than one runs. */
  readonly name?: string;
}

/** Runs the controller with only the permissions from its manifests. */
export async function runController(
  home: Home,
  bundle: string,
  kubectl: Kubectl,
  server: Server,
  { name = "reprise-controller", ...settings }: ControllerConfig = {},
): Promise<RunningProgram> {
  const healthPort = await freePort();
  const config = join(home.folder, `${name}.yaml`);
  writeFileSync(config, stringify({ ...settings, controller: { ...settings.controller, healthPort } }));
  const kubeconfig = await accountKubeconfig(home, "reprise-controller", { kubectl, server });
  const program = await home.runner.run(name, [
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

/** How a program reaches the cluster. */
export interface Access {
  readonly kubectl: Kubectl;
  readonly server: Server;
}

/** Writes a kubeconfig for a service account from the manifests and returns its path. */
export async function accountKubeconfig(home: Home, account: string, { kubectl, server }: Access): Promise<string> {
  const namespaced = ["-n", "reprise-system"];
  await kubectl(["wait", "serviceaccount", account, ...namespaced, "--for=create", "--timeout=10s"]);
  const token = await kubectl(["create", "token", account, ...namespaced, "--duration=8h"]);
  const kubeconfig = join(home.folder, `${account}.kubeconfig`);
  writeFileSync(kubeconfig, tokenKubeconfig(server, token.trim()), { mode: 0o600 });
  return kubeconfig;
}

/** Uses only this CA and this token. */
export function tokenConfig(server: Server, token: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromString(tokenKubeconfig(server, token));
  return config;
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

/** Applies only the webhook's service account and permissions. */
export async function applyWebhookRights(kubectl: Kubectl): Promise<void> {
  const root = new URL("../manifests/", import.meta.url).pathname;
  const files = ["default/namespace.yaml", "webhook/serviceaccount.yaml", "webhook/rbac.yaml"];
  await kubectl(["apply", "--server-side", ...files.flatMap((file) => ["-f", join(root, file)])]);
}

/** Applies `manifests/default` without workloads and certificates: CRD, RBAC, admission policies, flow control. */
export async function applyManifests(kubectl: Kubectl): Promise<void> {
  const rendered = await kubectl(["kustomize", new URL("../manifests/default", import.meta.url).pathname]);
  const left = new Set(["Deployment", "Service", "PodDisruptionBudget", "Certificate", "Issuer"]);
  const manifests = parseAllDocuments(rendered)
    .map((document) => document.toJS() as { kind: string })
    .filter(({ kind }) => !left.has(kind) && !kind.endsWith("WebhookConfiguration"));
  // Namespaces and CRDs first.
  const isFirst = ({ kind }: { kind: string }) => kind === "Namespace" || kind === "CustomResourceDefinition";
  for (const batch of [manifests.filter(isFirst), manifests.filter((one) => !isFirst(one))]) {
    await kubectl(["apply", "--server-side", "-f", "-"], { input: batch.map((one) => stringify(one)).join("---\n") });
  }
  const crds = ["groupepochs", "inplacerestarts"].map((plural) => `crd/${plural}.reprise.dev`);
  await kubectl(["wait", ...crds, "--for=condition=Established", "--timeout=30s"]);
}
