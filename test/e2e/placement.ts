// Where Pods of a test run: fields of a Pod spec for the two nodes of the local cluster.
import type { Kubectl } from "../cluster/kubectl.ts";
import { waitForJobSet } from "../cluster/parts/jobset.ts";

type NodeName = "node-1" | "node-2";

export function onNode(node: NodeName): { readonly nodeSelector: Readonly<Record<string, string>> } {
  return { nodeSelector: { "kubernetes.io/hostname": node } };
}

/** A preference, so that the Pod can also run elsewhere. */
export function preferring(node: NodeName): { readonly affinity: object } {
  const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }];
  return {
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference: { matchExpressions } }],
      },
    },
  };
}

/** Evenly over both nodes. With `honorTaints` a lost node does not count, so that all Pods can run on the other one. */
export function spread(jobSet: string, honorTaints = false): { readonly topologySpreadConstraints: readonly object[] } {
  return {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "kubernetes.io/hostname",
        whenUnsatisfiable: "DoNotSchedule",
        ...(honorTaints ? { nodeTaintsPolicy: "Honor" } : {}),
        labelSelector: { matchLabels: { "jobset.sigs.k8s.io/jobset-name": jobSet } },
      },
    ],
  };
}

/** Moves JobSet's manager off the node that a test takes away: without its webhook no Pod can be created. */
export async function keepJobSetOn(kubectl: Kubectl, node: NodeName): Promise<void> {
  const pinned = { spec: { template: { spec: onNode(node) } } };
  const manager = ["deployment/jobset-controller-manager", "-n", "jobset-system"];
  await kubectl(["patch", ...manager, "-p", JSON.stringify(pinned)]);
  await waitForJobSet(kubectl);
}
