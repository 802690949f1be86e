// Kubeflow Trainer with its own manifests, as a process of this machine.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../free-port.ts";
import { assetFolder, ensureBinaries } from "../binaries.ts";
import { createAuthority } from "../pki.ts";
import type { RunningProgram } from "../processes.ts";
import { terminalProgress } from "../progress.ts";
import { folderOf, type ManagerHome, rendered, runManager } from "./host-manager.ts";

const NAME = "trainer";

/** Its overlays also download JobSet, so the parts are rendered one by one. */
const PARTS = ["crds", "webhook"];

export async function runTrainer(home: ManagerHome): Promise<RunningProgram> {
  const binaries = await ensureBinaries(["trainer"], terminalProgress());
  const [webhookPort, healthPort] = [await freePort(), await freePort()];
  const folders = PARTS.map((part) => `${assetFolder("trainer")}/base/${part}`);
  const manifests = await Promise.all(folders.map((folder) => rendered(home.kubectl, folder)));
  const folder = folderOf(home, NAME);
  // The manager has no setting for it, and looks in the folder for temporary files.
  const certDir = join(folder, "k8s-webhook-server", "serving-certs");
  mkdirSync(certDir, { recursive: true });
  const authority = createAuthority("trainer webhooks");
  const pair = authority.issue({ commonName: "trainer", ipAddresses: [home.address] });
  writeFileSync(join(certDir, "tls.crt"), pair.cert);
  writeFileSync(join(certDir, "tls.key"), pair.key, { mode: 0o600 });
  return await runManager(home, {
    name: NAME,
    binary: binaries("trainer", "trainer-controller-manager"),
    manifests: manifests.flat(),
    authority,
    webhookPort,
    healthPort,
    config: {
      apiVersion: "config.trainer.kubeflow.org/v1alpha1",
      kind: "Configuration",
      webhook: { host: home.address, port: webhookPort },
      metrics: { bindAddress: "0" },
      health: { healthProbeBindAddress: `127.0.0.1:${healthPort}` },
      leaderElection: { leaderElect: false },
      certManagement: { enable: false },
    },
    args: ["--zap-log-level=2"],
    env: { TMPDIR: folder },
  });
}
