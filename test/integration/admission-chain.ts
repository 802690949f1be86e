// A control plane whose API server asks, for every JobSet, the real JobSet webhooks and then reprise's own: the manifests of this
// repository, served by the built program, reached by URL because there are no nodes.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { bundleCli } from "../../scripts/bundle.ts";
import { type ControlPlane, freePorts, startControlPlane } from "../cluster/control-plane.ts";
import { runJobSet } from "../cluster/parts/jobset.ts";
import { createAuthority } from "../cluster/pki.ts";
import { type RunningProgram, waitUntilReady } from "../cluster/processes.ts";

export interface AdmissionChain {
  readonly controlPlane: ControlPlane;
  readonly webhook: RunningProgram;
  /** Where the webhook serves /metrics. */
  readonly healthUrl: string;
}

export interface AdmissionChainOptions {
  /** Lines for the webhook's config file, below `injection:`. */
  readonly injection?: Readonly<Record<string, unknown>>;
  readonly apiServerFlags?: readonly string[];
  /** JobSet with its own alpha of in-place restart turned on. */
  readonly upstreamInPlace?: boolean;
}

export async function startAdmissionChain(options: AdmissionChainOptions = {}): Promise<AdmissionChain> {
  const { apiServerFlags = [], upstreamInPlace = false } = options;
  const controlPlane = await startControlPlane({ controllerManager: true, apiServerFlags });
  try {
    const [, webhook] = await Promise.all([
      runJobSet(controlPlane, { upstreamInPlace }),
      runWebhook(controlPlane, options),
    ]);
    await controlPlane.kubectl(["apply", "-f", "-"], { input: await webhookConfigurations(controlPlane, webhook) });
    return { controlPlane, webhook: webhook.program, healthUrl: webhook.healthUrl };
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
}

/** A namespace whose JobSets are injected. */
export async function createNamespace(
  { kubectl }: ControlPlane,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  const metadata = { name, labels: { "reprise.dev/injection": "enabled", ...labels } };
  await kubectl(["apply", "-f", "-"], { input: JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata }) });
}

interface ServedWebhook {
  readonly program: RunningProgram;
  readonly url: string;
  readonly healthUrl: string;
  readonly caBundle: string;
}

async function runWebhook(controlPlane: ControlPlane, options: AdmissionChainOptions): Promise<ServedWebhook> {
  const folder = join(controlPlane.folder, "reprise");
  mkdirSync(folder);
  await bundleCli(folder);
  const [port, healthPort] = await freePorts();
  const authority = createAuthority("reprise webhooks");
  const pair = authority.issue({ commonName: "reprise-webhook", ipAddresses: ["127.0.0.1"] });
  writeFileSync(join(folder, "tls.crt"), pair.cert);
  writeFileSync(join(folder, "tls.key"), pair.key);
  const config = { webhook: { port, healthPort, certDir: folder }, injection: options.injection ?? {} };
  writeFileSync(join(folder, "config.yaml"), stringify(config));
  const program = await controlPlane.run("reprise-webhook", [
    process.execPath,
    join(folder, "reprise.js"),
    "webhook",
    `--config=${join(folder, "config.yaml")}`,
    "--log-level=debug",
  ]);
  const healthUrl = `http://127.0.0.1:${healthPort}`;
  await waitUntilReady(program, 30_000, async () => (await fetch(`${healthUrl}/readyz`)).ok);
  return {
    program,
    url: `https://127.0.0.1:${port}`,
    healthUrl,
    caBundle: Buffer.from(authority.cert).toString("base64"),
  };
}

/** What `manifests/webhook` registers, with the Service replaced by where the program listens here. */
async function webhookConfigurations({ kubectl }: ControlPlane, { url, caBundle }: ServedWebhook): Promise<string> {
  const rendered = await kubectl(["kustomize", new URL("../../manifests/webhook", import.meta.url).pathname]);
  const configurations = parseAllDocuments(rendered)
    .map((document) => document.toJS() as WebhookConfiguration)
    .filter(({ kind }) => kind.endsWith("WebhookConfiguration"));
  for (const webhook of configurations.flatMap(({ webhooks }) => webhooks)) {
    webhook.clientConfig = { url: `${url}${webhook.clientConfig.service?.path}`, caBundle };
  }
  return configurations.map((one) => stringify(one)).join("---\n");
}

interface WebhookConfiguration {
  readonly kind: string;
  readonly webhooks: { clientConfig: { service?: { path: string }; url?: string; caBundle?: string } }[];
}
