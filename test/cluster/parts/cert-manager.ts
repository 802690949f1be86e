// cert-manager in Pods, with its webhooks behind a Service, as a user's cluster has it before reprise is installed.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { assetFolder, type Binaries } from "../binaries.ts";
import type { Kubectl } from "../kubectl.ts";
import { waitFor } from "../proc.ts";
import { moduleVersion } from "../tool-groups.ts";
import { programArchive } from "./images.ts";

const NAMESPACE = "cert-manager";
const VERSION = moduleVersion("cluster", "github.com/cert-manager/cert-manager");
const IMAGE = `docker.io/local/cert-manager:${VERSION}`;

export function certManagerArchive(binaries: Binaries): string {
  return programArchive(binaries, "certManager", "cert-manager", IMAGE);
}

export async function installCertManager(kubectl: Kubectl): Promise<void> {
  const folder = assetFolder("certManager");
  const definitions = readdirSync(folder).filter((file) => file.endsWith(".yaml"));
  const crds = definitions.map((file) => readFileSync(join(folder, file), "utf8"));
  const manifest = readFileSync(new URL("cert-manager.yaml", import.meta.url), "utf8").replaceAll("$VERSION", VERSION);
  await kubectl(["apply", "--server-side", "-f", "-"], { input: [...crds, manifest].join("\n---\n") });
}

/** Ready means that a Certificate can be created: the webhook answers, and the API server trusts it. */
export async function waitForCertManager(kubectl: Kubectl): Promise<void> {
  await kubectl(["rollout", "status", "deployment", "-n", NAMESPACE, "--timeout=120s"]);
  const probe = JSON.stringify({
    apiVersion: "cert-manager.io/v1",
    kind: "Issuer",
    metadata: { name: "probe", namespace: NAMESPACE },
    spec: { selfSigned: {} },
  });
  await waitFor("cert-manager's webhook answers", 60_000, async () => {
    await kubectl(["apply", "--dry-run=server", "-f", "-"], { input: probe });
    return true;
  });
}
