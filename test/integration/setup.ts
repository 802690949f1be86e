// Builds the control plane before the first integration test, so that no test's time limit includes the build.
import { ensureBinaries } from "../cluster/binaries.ts";
import { terminalProgress } from "../cluster/progress.ts";

export default async function setup(): Promise<void> {
  await ensureBinaries(["etcd", "kubernetes", "jobset", "helm"], terminalProgress());
}
