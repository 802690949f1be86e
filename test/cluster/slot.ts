// A slot is a number that determines the addresses and names of one cluster. Clusters in different slots share nothing.
// Addresses exist only in the cluster's network namespaces. The host has one veth and its routes, which vanish with it.

export const MAX_SLOT = 31;
export const MAX_NODES = 4;

export interface Slot {
  readonly number: number;
  /** The host's end of the link into the cluster. Interface names have at most 15 characters. */
  readonly hostInterface: string;
  readonly hostAddress: string;
  /** The address of the API server and the gateway of every node. */
  readonly gateway: string;
  readonly nodeRange: string;
  /** The Pods of all nodes. */
  readonly podRange: string;
  readonly serviceRange: string;
  /** The address of the `kubernetes` Service. */
  readonly serviceAddress: string;
  /** The address of the kube-dns Service. */
  readonly dnsAddress: string;
  /** The parent of all container cgroups. */
  readonly cgroup: string;
  node(index: number): { name: string; address: string; podRange: string };
}

export function slot(number: number): Slot {
  if (!Number.isInteger(number) || number < 0 || number > MAX_SLOT) {
    throw new Error(`slot ${number} does not exist: choose a whole number from 0 to ${MAX_SLOT}`);
  }
  // 10.200.S.0/24 nodes, 10.201.8S.0/21 Pods (a /24 for each node), 10.202.S.0/24 Services.
  const firstPodNet = number * 8;
  return {
    number,
    hostInterface: `reprise${number}`,
    hostAddress: `10.200.${number}.254`,
    gateway: `10.200.${number}.1`,
    nodeRange: `10.200.${number}.0/24`,
    podRange: `10.201.${firstPodNet}.0/21`,
    serviceRange: `10.202.${number}.0/24`,
    serviceAddress: `10.202.${number}.1`,
    dnsAddress: `10.202.${number}.10`,
    cgroup: `reprise-${number}`,
    node: (index) => ({
      name: `node-${index}`,
      address: `10.200.${number}.${10 + index}`,
      podRange: `10.201.${firstPodNet + index}.0/24`,
    }),
  };
}
