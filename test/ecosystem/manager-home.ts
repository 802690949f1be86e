// Where the products run: as processes beside the local cluster.
import type { ManagerHome } from "../cluster/parts/host-manager.ts";
import { childRunner } from "../cluster/processes.ts";
import { slot } from "../cluster/slot.ts";
import type { Installation } from "../e2e/reprise.ts";

export function managerHome({ cluster, reprise }: Installation): ManagerHome {
  const { kubectl, kubeconfig, record } = cluster;
  const folder = reprise.logFolder;
  return { folder, runner: childRunner(folder), address: slot(record.slot).hostAddress, kubectl, kubeconfig };
}
