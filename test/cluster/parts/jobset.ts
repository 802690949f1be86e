// JobSet as its own kustomization installs it: in a Pod, with its webhooks behind a Service. Only the image differs,
// and the certificates exist from the start, so that no Pod waits for its Secret.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { freePort } from "../../free-port.ts";
import { assetFolder, type Binaries, ensureBinaries } from "../binaries.ts";
import type { ControlPlane } from "../control-plane.ts";
import { httpsStatus } from "../https.ts";
import type { Kubectl } from "../kubectl.ts";
import { type Authority, createAuthority } from "../pki.ts";
import { waitUntilReady } from "../processes.ts";
import { terminalProgress } from "../progress.ts";
import { moduleVersion } from "../tool-groups.ts";
import { programArchive } from "./images.ts";

const IMAGE = `docker.io/local/jobset:${moduleVersion("cluster", "sigs.k8s.io/jobset")}`;
const NAMESPACE = "jobset-system";
const SERVICE = "jobset-webhook-service";

export interface JobSetOptions {
  /** Enables JobSet's own alpha feature InPlaceRestart. */
  readonly upstreamInPlace: boolean;
}

export function jobSetArchive(binaries: Binaries): string {
  return programArchive(binaries, "jobset", "jobset", IMAGE);
}

export async function installJobSet(kubectl: Kubectl, options: JobSetOptions): Promise<void> {
  const authority = createAuthority("jobset webhooks");
  const pair = authority.issue({ commonName: SERVICE, dnsNames: [`${SERVICE}.${NAMESPACE}.svc`] });
  const manifests = await renderedManifests(kubectl, authority);
  for (const manifest of manifests) {
    if (manifest.kind === "Deployment") useLocalImage(manifest);
    if (manifest.kind === "ConfigMap") manifest.data = { "controller_manager_config.yaml": stringify(config(options)) };
    if (manifest.kind === "Secret") manifest.stringData = { "tls.crt": pair.cert, "tls.key": pair.key };
  }
  await apply(kubectl, manifests);
}

/** Runs JobSet's manager as a process for a control plane without nodes. The webhooks are registered by URL. */
export async function runJobSet(controlPlane: ControlPlane, options: JobSetOptions): Promise<void> {
  const { kubectl } = controlPlane;
  const binaries = await ensureBinaries(["jobset"], terminalProgress());
  const [port, healthPort] = [await freePort(), await freePort()];
  const authority = createAuthority("jobset webhooks");
  const manifests = (await renderedManifests(kubectl, authority)).filter(
    ({ kind }) => !["Deployment", "Service", "Secret", "ConfigMap"].includes(kind),
  );
  for (const { clientConfig } of manifests.flatMap(({ webhooks }) => webhooks ?? [])) {
    clientConfig.url = `https://127.0.0.1:${port}${clientConfig.service?.path}`;
    delete clientConfig.service;
  }
  const folder = join(controlPlane.folder, "jobset");
  mkdirSync(folder);
  const pair = authority.issue({ commonName: SERVICE, ipAddresses: ["127.0.0.1"] });
  writeFileSync(join(folder, "tls.crt"), pair.cert);
  writeFileSync(join(folder, "tls.key"), pair.key);
  const settings = {
    ...config(options),
    webhook: { host: "127.0.0.1", port, certDir: folder },
    metrics: { bindAddress: "0" },
    health: { healthProbeBindAddress: `127.0.0.1:${healthPort}` },
  };
  writeFileSync(join(folder, "config.yaml"), stringify(settings));
  // The webhooks refuse everything until the manager answers, so it starts before they are registered.
  await apply(
    kubectl,
    manifests.filter(({ webhooks }) => webhooks === undefined),
  );
  const command = ["env", `KUBECONFIG=${controlPlane.kubeconfig}`, binaries("jobset", "jobset")];
  const manager = await controlPlane.run("jobset", [...command, `--config=${join(folder, "config.yaml")}`]);
  const urls = manifests.flatMap(({ webhooks }) =>
    (webhooks ?? []).flatMap(({ clientConfig }) => clientConfig.url ?? []),
  );
  await waitUntilReady(manager, 60_000, async () => {
    if (!(await fetch(`http://127.0.0.1:${healthPort}/readyz`)).ok) return false;
    // The manager reports ready when it listens, and registers the webhook paths a moment later.
    const statuses = await Promise.all(urls.map((url) => httpsStatus(url, { ca: authority.cert })));
    return !statuses.includes(404);
  });
  await apply(
    kubectl,
    manifests.filter(({ webhooks }) => webhooks !== undefined),
  );
}

async function renderedManifests(kubectl: Kubectl, authority: Authority): Promise<Manifest[]> {
  const rendered = await kubectl(["kustomize", `${assetFolder("jobset")}/default`]);
  const manifests = parseAllDocuments(rendered).map((document) => document.toJS() as Manifest);
  const caBundle = Buffer.from(authority.cert).toString("base64");
  for (const { clientConfig } of manifests.flatMap(({ webhooks }) => webhooks ?? [])) clientConfig.caBundle = caBundle;
  return manifests;
}

async function apply(kubectl: Kubectl, manifests: readonly Manifest[]): Promise<void> {
  await kubectl(["apply", "--server-side", "-f", "-"], { input: manifests.map((one) => stringify(one)).join("---\n") });
}

export async function waitForJobSet(kubectl: Kubectl): Promise<void> {
  await kubectl(["rollout", "status", "deployment", "-n", NAMESPACE, "--timeout=120s"]);
}

interface Manifest {
  kind: string;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  webhooks?: { clientConfig: { caBundle?: string; url?: string; service?: { path: string } } }[];
  spec?: { template?: { spec?: { containers?: ManagerContainer[] } } };
}

interface ManagerContainer {
  image: string;
  command: string[];
  readinessProbe: { initialDelaySeconds: number; periodSeconds: number };
}

function config(options: JobSetOptions): object {
  return {
    apiVersion: "config.jobset.x-k8s.io/v1alpha1",
    kind: "Configuration",
    leaderElection: { leaderElect: false },
    internalCertManagement: { enable: false },
    ...(options.upstreamInPlace ? { featureGates: { InPlaceRestart: true } } : {}),
  };
}

function useLocalImage(deployment: Manifest): void {
  for (const container of deployment.spec?.template?.spec?.containers ?? []) {
    container.image = IMAGE;
    container.command = ["/jobset"];
    container.readinessProbe.initialDelaySeconds = 0;
    container.readinessProbe.periodSeconds = 1;
  }
}
