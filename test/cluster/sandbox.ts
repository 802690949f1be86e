// The namespaces of a cluster: one PID, mount, network and cgroup namespace for the whole cluster, and a mount and
// network namespace for each node. When the init process ends, so does every process, mount, bridge, route and address
// inside, even if the tool itself was killed. `down` only has to remove cgroup folders and files.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "./binaries.ts";
import {
  allPids,
  childOf,
  identify,
  isAlive,
  type ProcessIdentity,
  pidNamespace,
  pidsEntering,
  pidsRunning,
  pidsStarting,
  waitFor,
} from "./proc.ts";
import { type ProgramRunner, type RunningProgram, spawnLogged } from "./processes.ts";
import { run } from "./run.ts";

/** A running init process, and how to run programs in its namespaces. */
export interface Sandbox extends ProgramRunner {
  /** "cluster", or the name of a node. */
  readonly name: string;
  /** The pid of the init process on the host. */
  readonly pid: number;
  /** Runs a short command inside and returns its output. */
  exec(argv: readonly string[]): string;
}

const initFile = (folder: string, name: string): string => join(folder, `init-${name}`);

/** Opens the cluster's namespaces. Its processes have their own cgroup, which is the root of the cgroup namespace. */
export async function openCluster(folder: string, cgroup: string, initBinary: string): Promise<Sandbox> {
  const hierarchies = cgroupHierarchies();
  for (const { mountPoint, controllers } of hierarchies) {
    mkdirSync(join(mountPoint, cgroup), { recursive: true });
    if (controllers.includes("cpuset")) inheritCpuset(mountPoint, cgroup);
  }
  const init = initFile(folder, "cluster");
  copyFileSync(initBinary, init);
  // The shell moves itself into the cgroups before `unshare` makes them the root of the new cgroup namespace.
  const enter = hierarchies.map(({ mountPoint }) => `echo $$ > ${join(mountPoint, cgroup, "cgroup.procs")}`);
  const unshare = `exec unshare --mount --net --pid --cgroup --fork --mount-proc ${init}`;
  spawnLogged(["sh", "-ec", [...enter, unshare].join("\n")], join(folder, "logs", "init.log"), true);
  const pid = await waitFor("the cluster's namespaces open", 10_000, () => pidsRunning(init)[0]);
  const cluster = sandbox(folder, "cluster", pid);
  // Cgroup mounts from before the namespace still show the host's root, so they are mounted again.
  for (const { mountPoint, type, controllers } of hierarchies.toReversed()) {
    cluster.exec(["umount", "-l", mountPoint]);
    const named = controllers.some((controller) => controller.startsWith("name="));
    const options = type === "cgroup" ? ["-o", [...(named ? ["none"] : []), ...controllers].join(",")] : [];
    cluster.exec(["mount", "-t", type, ...options, "cgroup", mountPoint]);
  }
  // The kubelet propagates mounts to containers.
  cluster.exec(["mount", "--make-rshared", "/"]);
  return cluster;
}

/** Opens a node's mount and network namespaces inside the cluster's. */
export async function openNode(cluster: Sandbox, folder: string, name: string, initBinary: string): Promise<Sandbox> {
  const init = initFile(folder, name);
  copyFileSync(initBinary, init);
  await cluster.run(`init-${name}`, ["unshare", "--mount", "--net", "--propagation", "private", init]);
  const pid = await waitFor(`${name}'s namespaces open`, 10_000, () => pidsRunning(init)[0]);
  const node = sandbox(folder, name, pid);
  hideHostFolders(node, [folder, cacheFolder()]);
  node.exec(["mount", "--make-rshared", "/"]);
  return node;
}

/**
 * The kubelet, containerd and CNI plugins always write to some fixed paths. A node has empty in-memory folders there,
 * so the machine's own folders are never touched. `kept` folders stay visible at their paths.
 */
function hideHostFolders(node: Sandbox, kept: readonly string[]): void {
  for (const hidden of ["/var/lib", "/var/log", "/run", "/tmp"]) {
    const inside = kept.filter((folder) => folder.startsWith(`${hidden}/`));
    const script = [
      // A mount over the parent hides the folder, so it is first bound elsewhere.
      ...inside.map((folder, index) => {
        const aside = keptAside(node, index);
        return `mount --bind ${folder} /mnt; mkdir -p ${aside}; mount --move /mnt ${aside}`;
      }),
      `mount -t tmpfs -o mode=1777 tmpfs ${hidden}`,
      ...inside.map((folder, index) => {
        const aside = keptAside(node, index);
        return `mkdir -p ${folder}; mount --move ${aside} ${folder}; rmdir ${aside}`;
      }),
    ];
    node.exec(["sh", "-ec", script.join("\n")]);
  }
}

/** Of this node alone: all nodes of all clusters share the machine's /dev/shm while they start. */
function keptAside({ pid }: Sandbox, index: number): string {
  return `/dev/shm/kept-${pid}-${index}`;
}

/** The sandbox of a cluster or node that an earlier run of the tool opened, if it still exists. */
export function findSandbox(folder: string, name: string): Sandbox | undefined {
  const [pid] = pidsRunning(initFile(folder, name));
  return pid === undefined ? undefined : sandbox(folder, name, pid);
}

function sandbox(folder: string, sandboxName: string, pid: number): Sandbox {
  const enter = ["nsenter", `--target=${pid}`, "--mount", "--net", "--pid", "--cgroup", "--wd=/"];
  return {
    name: sandboxName,
    pid,
    exec: (argv) => run([...enter, ...argv]),
    async run(name, argv) {
      const logFile = join(folder, "logs", `${name}.log`);
      const child = spawnLogged([...enter, ...argv], logFile, true);
      const inner = await waitFor(`${name} starts`, 10_000, () => {
        return child.exitCode !== null ? -1 : childOf(child.pid ?? 0);
      });
      if (inner === -1) throw new Error(`${name} did not start:\n${readFileSync(logFile, "utf8").slice(-2000)}`);
      const identity = identify(inner);
      if (identity !== undefined) recordProgram(folder, { name, sandbox: sandboxName, argv, identity });
      return runningProgram(name, identity, logFile);
    },
  };
}

function runningProgram(name: string, identity: ProcessIdentity | undefined, logFile: string): RunningProgram {
  const alive = () => identity !== undefined && isAlive(identity);
  return {
    name,
    pid: identity?.pid ?? 0,
    logFile,
    alive,
    async kill() {
      if (identity !== undefined && alive()) process.kill(identity.pid, "SIGKILL");
      await waitFor(`${name} ends`, 10_000, () => !alive());
    },
  };
}

/** How a program was started, so that a later run of the tool can find, stop and restart it. */
interface ProgramRecord {
  readonly name: string;
  readonly sandbox: string;
  readonly argv: readonly string[];
  readonly identity: ProcessIdentity;
}

function recordProgram(folder: string, record: ProgramRecord): void {
  mkdirSync(join(folder, "programs"), { recursive: true });
  writeFileSync(join(folder, "programs", `${record.name}.json`), JSON.stringify(record));
}

export function recordedPrograms(folder: string): string[] {
  const programs = join(folder, "programs");
  return existsSync(programs) ? readdirSync(programs).map((file) => file.replace(/\.json$/, "")) : [];
}

export function findProgram(folder: string, name: string): RunningProgram {
  return runningProgram(name, readRecord(folder, name).identity, join(folder, "logs", `${name}.log`));
}

/** Starts a program again with the same command. */
export async function startAgain(folder: string, name: string): Promise<RunningProgram> {
  const record = readRecord(folder, name);
  const home = findSandbox(folder, record.sandbox);
  if (home === undefined) throw new Error(`${name} cannot be started: the namespaces of ${record.sandbox} are gone`);
  return await home.run(name, record.argv);
}

function readRecord(folder: string, name: string): ProgramRecord {
  const known = recordedPrograms(folder);
  if (!known.includes(name))
    throw new Error(`${name} is not a program of this cluster, which has: ${known.join(", ")}`);
  return JSON.parse(readFileSync(join(folder, "programs", `${name}.json`), "utf8")) as ProgramRecord;
}

/** Ends every process in the cluster's namespaces and removes its cgroups. Idempotent. */
export async function closeCluster(folder: string, cgroup: string): Promise<void> {
  const own = pidNamespace(process.pid);
  const holders = ["cluster", "node-1", "node-2"].flatMap((name) => pidsStarting(initFile(folder, name)));
  const namespaces = new Set(holders.map(pidNamespace).filter((namespace) => namespace !== own));
  // nsenter stops itself when its program is stopped (a lost node), and would never reap it.
  for (const pid of [...holders, ...holders.flatMap(pidsEntering)]) killIfAlive(pid);
  await waitFor("the cluster's processes end", 30_000, () => {
    return !allPids().some((pid) => holders.includes(pid) || namespaces.has(pidNamespace(pid) ?? own));
  });
  for (const { mountPoint } of cgroupHierarchies()) removeCgroup(join(mountPoint, cgroup));
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

interface CgroupHierarchy {
  readonly mountPoint: string;
  readonly type: "cgroup" | "cgroup2";
  readonly controllers: readonly string[];
}

/** cgroup v1 has a hierarchy for each controller, v2 has one. A machine may mount both. */
export function cgroupHierarchies(): CgroupHierarchy[] {
  const mounts = readFileSync("/proc/mounts", "utf8").trim().split("\n");
  return mounts.flatMap((line) => {
    const [, mountPoint = "", type, options = ""] = line.split(" ");
    if (type !== "cgroup" && type !== "cgroup2") return [];
    const general = new Set(["rw", "ro", "relatime", "noatime", "nosuid", "nodev", "noexec", "seclabel"]);
    return [{ mountPoint, type, controllers: options.split(",").filter((option) => !general.has(option)) }];
  });
}

/** A new v1 cpuset is empty. No process can enter it before it has CPUs and memory nodes. */
function inheritCpuset(mountPoint: string, cgroup: string): void {
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    writeFileSync(join(mountPoint, cgroup, file), readFileSync(join(mountPoint, file)));
  }
}

function removeCgroup(folder: string): void {
  if (!existsSync(folder)) return;
  for (const child of readdirSync(folder, { withFileTypes: true })) {
    if (child.isDirectory()) removeCgroup(join(folder, child.name));
  }
  rmdirSync(folder);
}
