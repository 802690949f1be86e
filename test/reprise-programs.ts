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
