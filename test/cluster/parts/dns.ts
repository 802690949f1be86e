// CoreDNS for the cluster's own names, with the settings of kubeadm. It runs beside the API server, at the address of
// the kube-dns Service: like the API server it is reached without kube-proxy.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Binaries } from "../binaries.ts";
import type { Credentials } from "../credentials.ts";
import type { Kubectl } from "../kubectl.ts";
import { waitUntilReady } from "../processes.ts";
import type { Sandbox } from "../sandbox.ts";
import type { Slot } from "../slot.ts";

const USER = "system:coredns";
const READY_PORT = 8181;

interface DnsSetup {
  readonly folder: string;
  readonly slot: Slot;
  readonly cluster: Sandbox;
  readonly binaries: Binaries;
  readonly credentials: Credentials;
  readonly kubectl: Kubectl;
}

export async function startDns({ folder, slot, cluster, binaries, credentials, kubectl }: DnsSetup): Promise<void> {
  await kubectl(["apply", "--server-side", "-f", "-"], { input: JSON.stringify(manifests(slot)) });
  cluster.exec(["ip", "address", "add", `${slot.dnsAddress}/32`, "dev", "lo"]);
  const corefile = join(folder, "Corefile");
  writeFileSync(corefile, corefileText(slot, credentials.kubeconfig("coredns", USER, "system:authenticated")));
  const coredns = await cluster.run("coredns", [binaries("coredns", "coredns"), "-conf", corefile]);
  await waitUntilReady(coredns, 30_000, async () => (await fetch(`http://${slot.gateway}:${READY_PORT}/ready`)).ok);
}

/** Names outside the cluster are refused: it has no route to another server. */
function corefileText({ dnsAddress, gateway }: Slot, kubeconfig: string): string {
  return `.:53 {
  bind ${dnsAddress}
  ready ${gateway}:${READY_PORT}
  errors
  cache 30 {
    disable success cluster.local
    disable denial cluster.local
  }
  loadbalance
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${kubeconfig}
    pods insecure
    ttl 30
  }
}
`;
}

function manifests({ dnsAddress }: Slot): object {
  const rules = [
    { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: ["list", "watch"] },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
  ];
  const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: USER } };
  const apiGroup = "rbac.authorization.k8s.io";
  const ports = [
    { name: "dns", port: 53, protocol: "UDP" },
    { name: "dns-tcp", port: 53, protocol: "TCP" },
  ];
  return {
    apiVersion: "v1",
    kind: "List",
    items: [
      // The API server creates it too, but maybe later.
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system" } },
      { ...rbac, kind: "ClusterRole", rules },
      {
        ...rbac,
        kind: "ClusterRoleBinding",
        roleRef: { apiGroup, kind: "ClusterRole", name: USER },
        subjects: [{ apiGroup, kind: "User", name: USER }],
      },
      // Reserves the address that the kubelets hand out.
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "kube-dns", namespace: "kube-system" },
        spec: { clusterIP: dnsAddress, ports },
      },
    ],
  };
}
