// Runs a product's controller manager as a process of this machine, with its own manifests. Its webhooks and CRD
// conversions are registered by URL, so the cluster needs neither its image nor its Service.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { httpsStatus } from "../https.ts";
import type { Kubectl } from "../kubectl.ts";
import type { Authority } from "../pki.ts";
import { type ProgramRunner, type RunningProgram, waitUntilReady } from "../processes.ts";

/** Where a manager runs, and the cluster that it manages. */
export interface ManagerHome {
  /** The parent of the manager's folder. */
  readonly folder: string;
  readonly runner: ProgramRunner;
  /** The address at which the API server reaches this machine. */
  readonly address: string;
  readonly kubectl: Kubectl;
  /** Path of an admin kubeconfig file. */
  readonly kubeconfig: string;
}

interface ClientConfig {
  caBundle?: string;
  url?: string;
  service?: { path: string };
}

export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  readonly webhooks?: readonly { readonly clientConfig: ClientConfig }[];
  readonly spec?: { readonly conversion?: { readonly webhook?: { readonly clientConfig: ClientConfig } } };
}

interface Manager {
  readonly name: string;
  readonly binary: string;
  /** Without what only an installation in Pods needs. */
  readonly manifests: readonly Manifest[];
  /** The config file. */
  readonly config: object;
  readonly authority: Authority;
  readonly webhookPort: number;
  readonly healthPort: number;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export async function rendered(kubectl: Kubectl, folder: string): Promise<readonly Manifest[]> {
  return parseAllDocuments(await kubectl(["kustomize", folder])).map((document) => document.toJS() as Manifest);
}

/** Exists after the call. */
export function folderOf(home: ManagerHome, name: string): string {
  const folder = join(home.folder, name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

export async function runManager(home: ManagerHome, manager: Manager): Promise<RunningProgram> {
  const { kubectl, kubeconfig, address } = home;
  const { name, manifests, authority } = manager;
  const urls = useUrls(manifests, `https://${address}:${manager.webhookPort}`, authority);
  const isFirst = ({ kind }: Manifest) => kind === "Namespace" || kind === "CustomResourceDefinition";
  await apply(kubectl, manifests.filter(isFirst));
  await kubectl(["wait", "crd", "--all", "--for=condition=Established", "--timeout=60s"]);
  // The API server refuses what the webhooks judge until they answer, so they are registered last.
  await apply(
    kubectl,
    manifests.filter((one) => !isFirst(one) && one.webhooks === undefined),
  );
  const config = join(folderOf(home, name), "config.yaml");
  writeFileSync(config, stringify(manager.config));
  const env = Object.entries({ KUBECONFIG: kubeconfig, ...manager.env }).map(([key, value]) => `${key}=${value}`);
  const program = await home.runner.run(name, [
    "env",
    ...env,
    manager.binary,
    `--config=${config}`,
    ...(manager.args ?? []),
  ]);
  await waitUntilReady(program, 120_000, async () => {
    if (!(await fetch(`http://127.0.0.1:${manager.healthPort}/readyz`)).ok) return false;
    // A manager reports ready when it listens, and registers the paths of its webhooks a moment later.
    const statuses = await Promise.all(urls.map((url) => httpsStatus(url, { ca: authority.cert })));
    return !statuses.includes(404);
  });
  await apply(
    kubectl,
    manifests.filter(({ webhooks }) => webhooks !== undefined),
  );
  return program;
}

/** Returns the URLs of the webhooks. */
function useUrls(manifests: readonly Manifest[], base: string, { cert }: Authority): readonly string[] {
  const caBundle = Buffer.from(cert).toString("base64");
  const useUrl = (clientConfig: ClientConfig) => {
    const url = `${base}${clientConfig.service?.path}`;
    delete clientConfig.service;
    Object.assign(clientConfig, { url, caBundle });
    return url;
  };
  for (const { spec } of manifests) {
    if (spec?.conversion?.webhook !== undefined) useUrl(spec.conversion.webhook.clientConfig);
  }
  return manifests.flatMap(({ webhooks }) => (webhooks ?? []).map(({ clientConfig }) => useUrl(clientConfig)));
}

async function apply(kubectl: Kubectl, manifests: readonly Manifest[]): Promise<void> {
  if (manifests.length === 0) return;
  const input = manifests.map((one) => stringify(one)).join("---\n");
  await kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], { input });
}
