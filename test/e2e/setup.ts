// Builds and installs the cluster's programs before the first e2e test, so that no time limit includes the build.
import { ensureBinaries } from "../cluster/binaries.ts";
import { ensurePackages } from "../cluster/packages.ts";
import { checkLinux, checkRoot, thisMachine } from "../cluster/prerequisites.ts";
import { terminalProgress } from "../cluster/progress.ts";

export default async function setup(): Promise<void> {
  const machine = thisMachine();
  checkLinux(machine);
  checkRoot(machine);
  ensurePackages(terminalProgress());
  await ensureBinaries(
    ["init", "etcd", "kubernetes", "containerd", "jobset", "certManager", "helm"],
    terminalProgress(),
  );
}
