// Builds what the integration tests run against before the first of them starts, so that no test's time limit pays for it.
import { ensureBinaries } from "../cluster/binaries.ts";
import { terminalProgress } from "../cluster/progress.ts";

export default async function setup(): Promise<void> {
  await ensureBinaries(["etcd", "kubernetes", "jobset"], terminalProgress());
}
