// Everything that a cluster could leave behind on the host, as sorted lines to compare before and after.
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { allPids, pidNamespace } from "../cluster/proc.ts";
import { run } from "../cluster/run.ts";
import { cgroupHierarchies } from "../cluster/sandbox.ts";

export interface MachineSnapshot {
  readonly processes: readonly string[];
  readonly mounts: readonly string[];
  readonly links: readonly string[];
  readonly addresses: readonly string[];
  readonly routes: readonly string[];
  readonly packetRules: readonly string[];
  readonly cgroups: readonly string[];
  readonly files: readonly string[];
  readonly forwarding: readonly string[];
}

/** Folders where Kubernetes, containerd, CNI and this tool keep files by default. */
const FOLDERS = [
  "/run",
  "/run/netns",
  "/run/reprise",
  "/var/lib",
  "/var/lib/reprise",
  "/var/lib/cni",
  "/var/lib/cni/networks",
  "/var/lib/cni/results",
  "/var/lib/kubelet",
  "/var/log",
  "/etc",
  "/etc/cni/net.d",
  "/etc/kubernetes",
  "/tmp",
];

export function takeSnapshot(): MachineSnapshot {
  return {
    processes: clusterProcesses(),
    mounts: lines(readFileSync("/proc/self/mounts", "utf8")),
    links: json<{ ifname: string }>(["ip", "-json", "link"]).map(({ ifname }) => ifname),
    addresses: json<{ addr_info: { local: string }[] }>(["ip", "-json", "address"])
      .flatMap(({ addr_info }) => addr_info.map(({ local }) => local))
      .sort(),
    routes: lines(run(["ip", "route", "show", "table", "all"])),
    packetRules: packetRules(),
    cgroups: cgroupHierarchies().flatMap(({ mountPoint }) => subfolders(mountPoint)),
    files: FOLDERS.flatMap((folder) => {
      return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
    }).filter((path) => !path.startsWith("/tmp/") || isProgramFile(path)),
    forwarding: [readFileSync("/proc/sys/net/ipv4/ip_forward", "utf8").trim()],
  };
}

/** Of a program of the cluster. Folders that begin with reprise- are those of tests. */
function isProgramFile(path: string): boolean {
  return /kube|containerd/.test(path) && !path.startsWith("/tmp/reprise-");
}

/** Processes of a cluster: in another PID namespace, or with its state folder in the command line. */
function clusterProcesses(): string[] {
  const own = pidNamespace(process.pid);
  return allPids().flatMap((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      const program = readlinkSync(`/proc/${pid}/exe`);
      const isForeign = pidNamespace(pid) !== own;
      return isForeign || program.includes("/lib/reprise/") || command.includes("/lib/reprise/")
        ? [`${pid} ${command}`]
        : [];
    } catch {
      return []; // The process has ended, or is a kernel thread.
    }
  });
}

/** Rules of nft and iptables, as far as they are installed. */
function packetRules(): string[] {
  const tools = [["/usr/sbin/nft", "list", "ruleset"], ["/usr/sbin/iptables-save"]];
  return tools.flatMap((argv) => (existsSync(argv[0] ?? "") ? lines(run(argv)) : []));
}

function subfolders(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => [join(folder, entry.name), ...subfolders(join(folder, entry.name))]);
}

function json<T>(argv: readonly string[]): T[] {
  return JSON.parse(run(argv)) as T[];
}

function lines(text: string): string[] {
  // Comments of iptables-save contain the time.
  return text
    .trim()
    .split("\n")
    .filter((line) => !line.startsWith("#"))
    .sort();
}
