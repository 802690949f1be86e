// Kueue with its own manifests and its own default configuration, as a process of this machine.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { freePort } from "../../free-port.ts";
import { assetFolder, ensureBinaries } from "../binaries.ts";
import { createAuthority } from "../pki.ts";
import type { RunningProgram } from "../processes.ts";
import { terminalProgress } from "../progress.ts";
import { folderOf, type ManagerHome, type Manifest, rendered, runManager } from "./host-manager.ts";

const NAME = "kueue";
const SECRET = "kueue-webhook-server-cert";
/** Kueue makes new certificates if the authority of those that exist has another name, or no RSA key. */
const AUTHORITY = "kueue-ca";
const SERVICE = "kueue-webhook-service.kueue-system.svc";

/** Only Pods need these. Nothing here asks for the API of pending workloads. */
const LEFT_OUT = new Set(["Deployment", "Service", "ConfigMap", "APIService"]);

/** `settings` are fields of Kueue's Configuration that differ from the file of its release. */
export async function runKueue(home: ManagerHome, settings: object = {}): Promise<RunningProgram> {
  const binaries = await ensureBinaries(["kueue"], terminalProgress());
  const [webhookPort, healthPort] = [await freePort(), await freePort()];
  const all = await rendered(home.kubectl, `${assetFolder("kueue")}/default`);
  const manifests = all.filter(({ kind }) => !LEFT_OUT.has(kind));
  const certDir = folderOf(home, NAME);
  const authority = createAuthority("kueue webhooks", { dnsNames: [AUTHORITY], rsa: true });
  const pair = authority.issue({ commonName: SERVICE, dnsNames: [SERVICE], ipAddresses: [home.address] });
  // Kueue keeps certificates that are valid, in its Secret and in the folder where a Pod would mount it.
  const files = { "ca.crt": authority.cert, "ca.key": authority.key, "tls.crt": pair.cert, "tls.key": pair.key };
  for (const [file, content] of Object.entries(files)) writeFileSync(join(certDir, file), content, { mode: 0o600 });
  const secret = manifests.find(({ kind, metadata }) => kind === "Secret" && metadata.name === SECRET);
  if (secret === undefined) throw new Error(`the manifests of Kueue have no Secret ${SECRET}`);
  secret.stringData = files;
  return await runManager(home, {
    name: NAME,
    binary: binaries("kueue", "kueue"),
    manifests,
    authority,
    webhookPort,
    healthPort,
    config: {
      ...releasedConfig(all),
      webhook: { host: home.address, port: webhookPort, certDir },
      metrics: { bindAddress: "0" },
      health: { healthProbeBindAddress: `127.0.0.1:${healthPort}` },
      leaderElection: { leaderElect: false },
      namespace: "kueue-system",
      featureGates: { VisibilityOnDemand: false },
      ...settings,
    },
    args: ["--zap-log-level=3"],
  });
}

function releasedConfig(manifests: readonly Manifest[]): object {
  const map = manifests.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "kueue-manager-config");
  return parse(map?.data?.["controller_manager_config.yaml"] ?? "") as object;
}
