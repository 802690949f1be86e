// cert-manager in Pods, behind a Service, with its webhooks: what a user's cluster has before reprise is installed.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { assetFolder, type Binaries } from "../binaries.ts";
import type { Kubectl } from "../kubectl.ts";
import { waitFor } from "../proc.ts";
import { moduleVersion } from "../tool-groups.ts";
import { programArchive } from "./images.ts";

const NAMESPACE = "cert-manager";
const VERSION = moduleVersion("cert-manager", "github.com/cert-manager/cert-manager");
const PROGRAMS = ["controller", "webhook", "cainjector"] as const;

const imageOf = (program: string): string => `docker.io/local/cert-manager-${program}:${VERSION}`;

export function certManagerArchives(binaries: Binaries): string[] {
  return PROGRAMS.map((program) => programArchive(binaries, "certManager", program, imageOf(program)));
}

export async function installCertManager(kubectl: Kubectl): Promise<void> {
  const folder = assetFolder("certManager");
  const definitions = readdirSync(folder).filter((file) => file.startsWith("crd-"));
  // The CRDs are Helm templates whose only placeholders are labels: without those lines they are plain YAML.
  const crds = definitions.map((file) => {
    return readFileSync(join(folder, file), "utf8")
      .split("\n")
      .filter((line) => !line.includes("{{"))
      .join("\n");
  });
  const manifest = readFileSync(new URL("cert-manager.yaml", import.meta.url), "utf8").replaceAll("$VERSION", VERSION);
  await kubectl(["apply", "--server-side", "-f", "-"], { input: [...crds, manifest].join("\n---\n") });
}

/** Ready means that a Certificate can be made: the webhook answers and its CA has been injected. */
export async function waitForCertManager(kubectl: Kubectl): Promise<void> {
  await kubectl(["rollout", "status", "deployment", "-n", NAMESPACE, "--timeout=120s"]);
  const probe = `{"apiVersion":"cert-manager.io/v1","kind":"Issuer","metadata":{"name":"probe","namespace":"${NAMESPACE}"},"spec":{"selfSigned":{}}}`;
  await waitFor("cert-manager's webhook answers", 60_000, async () => {
    await kubectl(["apply", "--dry-run=server", "-f", "-"], { input: probe });
    return true;
  });
}
