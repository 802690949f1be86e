// The cluster's network inside its namespaces: a bridge between the nodes, a route to each node's Pods, and the address
// of the `kubernetes` Service on loopback. Without a default route no packet to a Pod or Service can leave the machine.

import { run } from "./run.ts";
import type { Sandbox } from "./sandbox.ts";
import type { Slot } from "./slot.ts";

const BRIDGE = "nodes";

/**
 * Fixed, because a bridge otherwise takes the lowest MAC of its ports. It may then change when a node joins, and
 * connections of the earlier nodes hang until their neighbor entries expire (45 s for a kubelet).
 */
const BRIDGE_MAC = "02:00:00:00:00:01";

/** Connects the host and the cluster by one veth pair. The host's routes vanish with it when the namespace ends. */
export function connectHost(cluster: Sandbox, slot: Slot): void {
  refuseOverlap(slot);
  const ip = (...args: string[]) => cluster.exec(["ip", ...args]);
  ip("link", "set", "lo", "up");
  ip("address", "add", `${slot.serviceAddress}/32`, "dev", "lo");
  ip("link", "add", BRIDGE, "address", BRIDGE_MAC, "type", "bridge");
  ip("address", "add", `${slot.gateway}/24`, "dev", BRIDGE);
  ip("link", "set", BRIDGE, "up");
  // Packets to Services and Pods that do not exist are refused at once instead of taking another route.
  ip("route", "add", "unreachable", slot.serviceRange);
  ip("route", "add", "unreachable", slot.podRange);
  sysctl(cluster, "net/ipv4/ip_forward", "1");
  // Nodes share the bridge, so the gateway would redirect them to shorter routes that bypass it.
  sysctl(cluster, "net/ipv4/conf/all/send_redirects", "0");
  sysctl(cluster, `net/ipv4/conf/${BRIDGE}/send_redirects`, "0");

  const { hostInterface } = slot;
  run(["ip", "link", "add", hostInterface, "type", "veth", "peer", "name", "host", "netns", String(cluster.pid)]);
  ip("link", "set", "host", "master", BRIDGE, "up");
  run(["ip", "address", "add", `${slot.hostAddress}/24`, "dev", hostInterface]);
  run(["ip", "link", "set", hostInterface, "up"]);
  for (const range of [slot.podRange, slot.serviceRange]) run(["ip", "route", "add", range, "via", slot.gateway]);
}

/** Connects a node to the bridge and routes its Pods to it. */
export function connectNode(cluster: Sandbox, node: Sandbox, slot: Slot, index: number): void {
  const { name, address, podRange } = slot.node(index);
  const inNode = (...args: string[]) => node.exec(["ip", ...args]);
  cluster.exec(["ip", "link", "add", name, "type", "veth", "peer", "name", "eth0"]);
  run(["nsenter", `--target=${cluster.pid}`, "--net", "ip", "link", "set", "eth0", "netns", String(node.pid)]);
  cluster.exec(["ip", "link", "set", name, "master", BRIDGE, "up"]);
  inNode("link", "set", "lo", "up");
  inNode("address", "add", `${address}/24`, "dev", "eth0");
  inNode("link", "set", "eth0", "up");
  inNode("route", "add", "default", "via", slot.gateway);
  sysctl(node, "net/ipv4/ip_forward", "1");
  cluster.exec(["ip", "route", "add", podRange, "via", address]);
}

/** The kernel removes the veth a moment after its namespace. `down` waits for that, so that it leaves no trace. */
export function disconnectHost(slot: Slot): void {
  if (hostLinks().includes(slot.hostInterface)) run(["ip", "link", "delete", slot.hostInterface]);
}

function hostLinks(): string[] {
  return (JSON.parse(run(["ip", "-json", "link", "show"])) as { ifname: string }[]).map(({ ifname }) => ifname);
}

/** Refuses to hide addresses that this machine already routes elsewhere. */
function refuseOverlap(slot: Slot): void {
  for (const range of [slot.nodeRange, slot.podRange, slot.serviceRange]) {
    const routes = ["match", "root"].flatMap((how) => {
      return JSON.parse(run(["ip", "-json", "route", "show", how, range])) as { dst: string; dev?: string }[];
    });
    const taken = routes.find(({ dst }) => dst !== "default");
    if (taken === undefined) continue;
    throw new Error(
      `${range} is already routed on this machine (${taken.dst} by ${taken.dev ?? "no device"}): ` +
        "choose another slot with --slot N",
    );
  }
}

function sysctl(sandbox: Sandbox, key: string, value: string): void {
  sandbox.exec(["sh", "-c", `echo ${value} > /proc/sys/${key}`]);
}
