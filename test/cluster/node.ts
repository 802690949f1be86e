// One node: containerd and the kubelet in their own sandbox, with the node's files in one folder.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Binaries } from "./binaries.ts";
import type { Credentials } from "./credentials.ts";
import { waitFor } from "./proc.ts";
import { type RunningProgram, waitUntilReady } from "./processes.ts";
import { run } from "./run.ts";
import type { Sandbox } from "./sandbox.ts";
import type { Slot } from "./slot.ts";

export const PAUSE_IMAGE = "docker.io/local/pause:1";
const CNI_PLUGINS = "/usr/lib/cni";
const MAX_PODS = 110;

/** Directly in the node's folder, because Unix socket paths have at most 107 characters. */
const containerdSocket = (folder: string, index: number): string => join(folder, `node-${index}`, "ctrd.sock");

export interface NodeSetup {
  readonly folder: string;
  readonly index: number;
  readonly slot: Slot;
  readonly sandbox: Sandbox;
  readonly binaries: Binaries;
  readonly credentials: Credentials;
}

export async function startContainerd(setup: NodeSetup): Promise<void> {
  const { folder, index, sandbox, binaries } = setup;
  const nodeFolder = join(folder, `node-${index}`);
  mkdirSync(join(nodeFolder, "cni"), { recursive: true });
  writeFileSync(join(nodeFolder, "cni", "10-bridge.conflist"), JSON.stringify(cniConfig(setup), null, 2));
  const config = join(nodeFolder, "containerd.toml");
  writeFileSync(config, containerdConfig(setup));
  const socket = containerdSocket(folder, index);
  // containerd finds its shim on PATH.
  const shims = join(binaries("containerd", "containerd"), "..");
  const containerd = await sandbox.run(`containerd-${index}`, [
    "env",
    `PATH=${shims}:/usr/sbin:/usr/bin:/sbin:/bin`,
    binaries("containerd", "containerd"),
    "--config",
    config,
  ]);
  await waitUntilReady(containerd, 30_000, async () => {
    run([binaries("containerd", "ctr"), "--address", socket, "--connect-timeout", "1s", "version"]);
    return true;
  });
}

/** Imports a docker-archive tar, under the name the kubelet looks for. */
export function loadImage(binaries: Binaries, folder: string, index: number, archive: string): void {
  const ctr = binaries("containerd", "ctr");
  run([ctr, "--address", containerdSocket(folder, index), "--namespace", "k8s.io", "images", "import", archive]);
}

/** Frees the memory that an image takes, which no container may use any more. */
export function removeImage(binaries: Binaries, folder: string, index: number, image: string): void {
  const ctr = binaries("containerd", "ctr");
  const socket = containerdSocket(folder, index);
  run([ctr, "--address", socket, "--namespace", "k8s.io", "images", "remove", "--sync", image]);
}

export async function startKubelet(setup: NodeSetup): Promise<RunningProgram> {
  const { folder, index, slot, sandbox, binaries, credentials } = setup;
  const { name, address } = slot.node(index);
  const nodeFolder = join(folder, name);
  const config = join(nodeFolder, "kubelet.json");
  writeFileSync(config, JSON.stringify(kubeletConfig(setup), null, 2));
  const kubelet = await sandbox.run(`kubelet-${index}`, [
    binaries("kubernetes", "kubelet"),
    `--config=${config}`,
    `--kubeconfig=${credentials.kubeconfig(`kubelet-${index}`, `system:node:${name}`, "system:nodes")}`,
    `--hostname-override=${name}`,
    `--node-ip=${address}`,
    `--root-dir=${join(nodeFolder, "kubelet")}`,
    `--cert-dir=${join(nodeFolder, "kubelet-certs")}`,
  ]);
  await waitFor(`kubelet of ${name} starts`, 10_000, () => kubelet.alive());
  return kubelet;
}

function kubeletConfig({ folder, index, slot, credentials }: NodeSetup): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    containerRuntimeEndpoint: `unix://${containerdSocket(folder, index)}`,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: credentials.path("ca.crt") },
    },
    authorization: { mode: "Webhook" },
    // A DNS server runs there only on request. A kubelet without one records an Event at every sync of a Pod.
    clusterDNS: [slot.dnsAddress],
    clusterDomain: "cluster.local",
    cgroupDriver: "cgroupfs",
    failCgroupV1: false,
    // CI runners and nested VMs often delegate too few cgroup controllers for the kubelet's own hierarchy.
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    oomScoreAdj: 0,
    maxPods: MAX_PODS,
    podLogsDir: join(folder, `node-${index}`, "pod-logs"),
    // A full disk on a developer's machine must not evict test Pods.
    evictionHard: {
      "memory.available": "0%",
      "nodefs.available": "0%",
      "nodefs.inodesFree": "0%",
      "imagefs.available": "0%",
    },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    // Events and status updates of many restarting Pods must not wait for the default limit of 50 requests per second.
    kubeAPIQPS: 200,
    kubeAPIBurst: 400,
    registerWithTaints: [],
  };
}

function cniConfig({ slot, index, folder }: NodeSetup): object {
  return {
    cniVersion: "1.0.0",
    name: `reprise-${slot.number}-${index}`,
    plugins: [
      {
        type: "bridge",
        bridge: "cni0",
        isGateway: true,
        // No NAT: Pods reach each other and the API server by routes, and need nothing outside.
        ipMasq: false,
        ipam: {
          type: "host-local",
          ranges: [[{ subnet: slot.node(index).podRange }]],
          routes: [{ dst: "0.0.0.0/0" }],
          dataDir: join(folder, `node-${index}`, "cni-addresses"),
        },
      },
    ],
  };
}

function containerdConfig({ folder, index }: NodeSetup): string {
  const nodeFolder = join(folder, `node-${index}`);
  return `version = 3
root = "${nodeFolder}/containerd"
state = "${nodeFolder}/containerd-state"

[grpc]
address = "${containerdSocket(folder, index)}"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "${PAUSE_IMAGE}"

[plugins."io.containerd.cri.v1.runtime"]
# Lowering oom_score_adj needs CAP_SYS_RESOURCE, which CI often lacks. runc would fail without a useful message.
restrict_oom_score_adj = true
# Network namespaces of Pods stay in this node's folder instead of /run/netns.
netns_mounts_under_state_dir = true

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["${CNI_PLUGINS}"]
conf_dir = "${nodeFolder}/cni"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = false
`;
}
