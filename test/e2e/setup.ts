// Builds and installs what the e2e tests run before the first of them starts, so that no test's time limit pays for it.
import { ensureBinaries } from "../cluster/binaries.ts";
import { ensurePackages } from "../cluster/packages.ts";
import { checkLinux, checkRoot, thisMachine } from "../cluster/prerequisites.ts";
import { terminalProgress } from "../cluster/progress.ts";

export default async function setup(): Promise<void> {
  const machine = thisMachine();
  checkLinux(machine);
  checkRoot(machine);
  ensurePackages(terminalProgress());
  await ensureBinaries(["init", "etcd", "kubernetes", "containerd", "jobset", "certManager"], terminalProgress());
}
