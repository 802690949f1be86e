// JobSet as its own kustomization installs it: in a Pod, behind a Service, with its webhooks. What differs is where the
// image comes from, and certificates that exist from the start, so that nobody waits for a Secret to reach the Pod.
import { parseAllDocuments, stringify } from "yaml";
import { assetFolder, type Binaries } from "../binaries.ts";
import type { Kubectl } from "../kubectl.ts";
import { createAuthority } from "../pki.ts";
import { moduleVersion } from "../tool-groups.ts";
import { programArchive } from "./images.ts";

const IMAGE = `docker.io/local/jobset:${moduleVersion("jobset", "sigs.k8s.io/jobset")}`;
const NAMESPACE = "jobset-system";
const SERVICE = "jobset-webhook-service";

export interface JobSetOptions {
  /** Turns upstream's alpha of in-place restart on. */
  readonly upstreamInPlace: boolean;
}

export function jobSetArchive(binaries: Binaries): string {
  return programArchive(binaries, "jobset", "jobset", IMAGE);
}

export async function installJobSet(kubectl: Kubectl, options: JobSetOptions): Promise<void> {
  const rendered = await kubectl(["kustomize", `${assetFolder("jobset")}/default`]);
  const authority = createAuthority("jobset webhooks");
  const pair = authority.issue({ commonName: SERVICE, dnsNames: [`${SERVICE}.${NAMESPACE}.svc`] });
  const caBundle = Buffer.from(authority.cert).toString("base64");
  const documents = parseAllDocuments(rendered).map((document) => document.toJS() as Manifest);
  for (const manifest of documents) {
    if (manifest.kind === "Deployment") useLocalImage(manifest);
    if (manifest.kind === "ConfigMap") manifest.data = { "controller_manager_config.yaml": stringify(config(options)) };
    if (manifest.kind === "Secret") manifest.stringData = { "tls.crt": pair.cert, "tls.key": pair.key };
    for (const webhook of manifest.webhooks ?? []) webhook.clientConfig.caBundle = caBundle;
  }
  await kubectl(["apply", "--server-side", "-f", "-"], { input: documents.map((one) => stringify(one)).join("---\n") });
}

export async function waitForJobSet(kubectl: Kubectl): Promise<void> {
  await kubectl(["rollout", "status", "deployment", "-n", NAMESPACE, "--timeout=120s"]);
}

interface Manifest {
  kind: string;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  webhooks?: { clientConfig: { caBundle?: string } }[];
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
