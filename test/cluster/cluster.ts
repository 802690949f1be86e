// The local cluster: a real Kubernetes with up to four nodes on this machine. `up` opens namespaces and starts
// everything inside; `down` ends them. All state is in one folder, where a later run of the tool, or a test, finds it.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Binaries, ensureBinaries } from "./binaries.ts";
import { type ControlPlaneAddresses, ControlPlanePrograms } from "./control-plane.ts";
import { type Kubectl, kubectlFor } from "./kubectl.ts";
import { takeLock } from "./lock.ts";
import { keepInMemory, releaseMemory } from "./memory-folder.ts";
import { connectHost, connectNode, disconnectHost } from "./network.ts";
import { loadImage, type NodeSetup, removeImage, startContainerd, startKubelet } from "./node.ts";
import { ensurePackages } from "./packages.ts";
import { certManagerArchive, installCertManager, waitForCertManager } from "./parts/cert-manager.ts";
import { startDns } from "./parts/dns.ts";
import { busyboxArchive, pauseArchive } from "./parts/images.ts";
import { installJobSet, jobSetArchive, waitForJobSet } from "./parts/jobset.ts";
import { checkLinux, checkRoot, thisMachine } from "./prerequisites.ts";
import { waitFor } from "./proc.ts";
import type { RunningProgram } from "./processes.ts";
import type { Progress } from "./progress.ts";
import {
  closeCluster,
  findProgram,
  findSandbox,
  openCluster,
  openNode,
  recordedPrograms,
  startAgain,
} from "./sandbox.ts";
import { MAX_NODES, MAX_SLOT, type Slot, slot as slotOf } from "./slot.ts";
import type { ToolGroupName } from "./tool-groups.ts";

export type Part = "jobset" | "cert-manager" | "dns";

export interface ClusterOptions {
  readonly slot: number;
  readonly stateDir?: string;
  /** 0 starts only a control plane. */
  readonly nodes: number;
  readonly parts: readonly Part[];
  readonly upstreamInPlace: boolean;
  readonly progress: Progress;
  /** For tests that cannot wait 50 s until a node counts as lost. */
  readonly controllerManagerFlags?: readonly string[];
}

/** The content of the marker file. The tool never removes a folder without one, because it did not create it. */
export interface ClusterRecord {
  readonly slot: number;
  readonly nodes: number;
  readonly parts: readonly Part[];
  readonly upstreamInPlace: boolean;
  readonly checkout: string;
  readonly since: string;
  /** False until `up` completes. */
  readonly ready: boolean;
}

const MARKER = "reprise-cluster.json";
const STATE_ROOT = "/var/lib/reprise";
const LOCK_ROOT = "/run/reprise";
const API_PORT = 443;

export const defaultStateDir = (slot: number): string => join(STATE_ROOT, `cluster-${slot}`);

/** A running cluster. */
export class Cluster {
  readonly stateDir: string;
  readonly record: ClusterRecord;
  readonly kubeconfig: string;
  readonly kubectl: Kubectl;
  /** The URL of the API server, for this machine and for Pods with host network. */
  readonly server: string;
  readonly #binaries: Binaries;

  private constructor(stateDir: string, record: ClusterRecord, binaries: Binaries) {
    this.stateDir = stateDir;
    this.record = record;
    this.#binaries = binaries;
    this.server = addressesOf(slotOf(record.slot)).server;
    this.kubeconfig = join(stateDir, "pki", "admin.kubeconfig");
    this.kubectl = kubectlFor(binaries("kubernetes", "kubectl"), this.kubeconfig);
  }

  static async up(options: ClusterOptions): Promise<Cluster> {
    const machine = thisMachine();
    checkLinux(machine);
    checkRoot(machine);
    if (!Number.isInteger(options.nodes) || options.nodes < 0 || options.nodes > MAX_NODES) {
      throw new Error(`--nodes ${options.nodes} is not possible: choose from 0 to ${MAX_NODES}`);
    }
    const slot = slotOf(options.slot);
    const stateDir = resolve(options.stateDir ?? defaultStateDir(options.slot));
    const unlock = lockSlot(slot, "up");
    try {
      refuseTaken(slot, stateDir);
      ensurePackages(options.progress);
      const binaries = await ensureBinaries(toolGroups(options), options.progress);
      const cluster = new Cluster(stateDir, claim(slot, stateDir, options), binaries);
      await cluster.#start(slot, options);
      return new Cluster(stateDir, writeRecord(stateDir, { ...cluster.record, ready: true }), binaries);
    } finally {
      unlock();
    }
  }

  /** The cluster that an earlier run left up in this folder. */
  static async attach(stateDir: string, progress: Progress): Promise<Cluster> {
    const record = readRecord(stateDir);
    if (record === undefined || findSandbox(stateDir, "cluster") === undefined) {
      throw new Error(`no cluster is up in ${stateDir}: start one with "npm run cluster -- up"`);
    }
    if (!record.ready) throw new Error(`the cluster in ${stateDir} was not started completely: run "down", then "up"`);
    return new Cluster(stateDir, record, await ensureBinaries(["etcd", "kubernetes", "containerd"], progress));
  }

  /** Every program of the cluster: etcd, kube-apiserver, ..., containerd-1, kubelet-1. */
  programs(): RunningProgram[] {
    return recordedPrograms(this.stateDir).map((name) => this.program(name));
  }

  program(name: string): RunningProgram {
    return findProgram(this.stateDir, name);
  }

  async startAgain(name: string): Promise<void> {
    await startAgain(this.stateDir, name);
    if (name === "kube-apiserver") await waitFor("the API server is ready", 60_000, () => this.#apiServerAnswers());
  }

  async #apiServerAnswers(): Promise<boolean> {
    return (await this.kubectl(["get", "--raw", "/readyz"])) === "ok";
  }

  /** Imports a docker-archive tar into every node. */
  load(archive: string): void {
    if (!existsSync(archive)) throw new Error(`${archive} does not exist: give the path of a docker-archive tar`);
    for (const index of nodeIndexes(this.record.nodes)) loadImage(this.#binaries, this.stateDir, index, archive);
  }

  /** Removes an image from every node. Clusters are in memory, and some images are large. */
  unload(image: string): void {
    for (const index of nodeIndexes(this.record.nodes)) removeImage(this.#binaries, this.stateDir, index, image);
  }

  async #start(slot: Slot, options: ClusterOptions): Promise<void> {
    const { progress } = options;
    const init = this.#binaries("init", "reprise-cluster-init");
    const step = progress.step("starting the control plane");
    const cluster = await openCluster(this.stateDir, slot.cgroup, init);
    connectHost(cluster, slot);
    const programs = new ControlPlanePrograms(this.#binaries, this.stateDir, addressesOf(slot), cluster, []);
    await programs.startEtcd();
    await programs.startApiServer();
    await programs.startControllerManager(options.controllerManagerFlags);
    await programs.startScheduler();
    if (options.parts.includes("dns")) {
      const { binaries, credentials } = { binaries: this.#binaries, credentials: programs.credentials };
      await startDns({ folder: this.stateDir, slot, cluster, binaries, credentials, kubectl: this.kubectl });
    }
    step.done();
    if (options.nodes === 0) return;

    const nodeStep = progress.step(`starting ${options.nodes === 1 ? "a node" : `${options.nodes} nodes`}`);
    for (const index of nodeIndexes(options.nodes)) {
      const sandbox = await openNode(cluster, this.stateDir, slot.node(index).name, init);
      connectNode(cluster, sandbox, slot, index);
      const { binaries, credentials } = { binaries: this.#binaries, credentials: programs.credentials };
      const setup: NodeSetup = { folder: this.stateDir, index, slot, sandbox, binaries, credentials };
      await startContainerd(setup);
      // Before the kubelet starts: it exits when an import unmounts something while it lists the mounts of the node.
      for (const archive of [pauseArchive(this.#binaries), busyboxArchive()])
        loadImage(this.#binaries, this.stateDir, index, archive);
      await startKubelet(setup);
    }
    await waitFor("the nodes are registered", 60_000, async () => {
      const names = await this.kubectl(["get", "nodes", "-o", "name"]);
      return names.split("\n").filter((name) => name !== "").length === options.nodes;
    });
    await this.kubectl(["wait", "--for=condition=Ready", "nodes", "--all", "--timeout=60s"]);
    nodeStep.done();
    await this.#install(options);
  }

  async #install({ parts, progress, upstreamInPlace }: ClusterOptions): Promise<void> {
    const inPods = parts.filter((part) => part !== "dns");
    if (inPods.length === 0) return;
    const step = progress.step(`installing ${inPods.join(" and ")}`);
    if (parts.includes("jobset")) {
      this.load(jobSetArchive(this.#binaries));
      await installJobSet(this.kubectl, { upstreamInPlace });
    }
    if (parts.includes("cert-manager")) {
      this.load(certManagerArchive(this.#binaries));
      await installCertManager(this.kubectl);
    }
    if (parts.includes("jobset")) await waitForJobSet(this.kubectl);
    if (parts.includes("cert-manager")) await waitForCertManager(this.kubectl);
    step.done();
  }
}

/** Removes every trace of the cluster in this folder, whatever its state. */
export async function down(slotNumber: number, stateDir = defaultStateDir(slotNumber)): Promise<boolean> {
  checkRoot(thisMachine());
  const record = readRecord(stateDir);
  const slot = slotOf(record?.slot ?? slotNumber);
  const unlock = lockSlot(slot, "down");
  try {
    if (record === undefined) return false;
    await closeCluster(stateDir, slot.cgroup);
    disconnectHost(slot);
    releaseMemory(stateDir);
    rmSync(stateDir, { recursive: true, force: true });
    rmSync(claimFile(slot), { force: true });
    removeIfEmpty(STATE_ROOT);
    return true;
  } finally {
    unlock();
    removeIfEmpty(LOCK_ROOT);
  }
}

/** The first free slot from `from` on. */
export function freeSlot(from: number): number {
  for (let number = from; number <= MAX_SLOT; number++) {
    if (!existsSync(claimFile(slotOf(number))) && !existsSync(lockFile(slotOf(number)))) return number;
  }
  throw new Error(
    `all slots from ${from} to ${MAX_SLOT} are taken: end a cluster with "npm run cluster -- down --slot N"`,
  );
}

function readRecord(stateDir: string): ClusterRecord | undefined {
  try {
    return JSON.parse(readFileSync(join(stateDir, MARKER), "utf8")) as ClusterRecord;
  } catch {
    return undefined;
  }
}

function writeRecord(stateDir: string, record: ClusterRecord): ClusterRecord {
  writeFileSync(join(stateDir, MARKER), JSON.stringify(record, null, 2));
  return record;
}

const lockFile = (slot: Slot): string => join(LOCK_ROOT, `slot-${slot.number}.lock`);
const claimFile = (slot: Slot): string => join(LOCK_ROOT, `slot-${slot.number}.json`);

/** Held while `up` or `down` works on the slot. */
function lockSlot(slot: Slot, command: "up" | "down"): () => void {
  mkdirSync(LOCK_ROOT, { recursive: true });
  return takeLock(lockFile(slot), `cluster ${command}`, { evenFromUs: command === "down" });
}

/** The claim is held from `up` to `down` and names the folder of the slot's cluster. */
function refuseTaken(slot: Slot, stateDir: string): void {
  const claimed = existsSync(claimFile(slot)) ? readFileSync(claimFile(slot), "utf8") : undefined;
  if (claimed !== undefined && claimed !== stateDir) {
    const owner = readRecord(claimed);
    throw new Error(
      `slot ${slot.number} is held by the cluster in ${claimed} ` +
        `(checkout ${owner?.checkout ?? "unknown"}, since ${owner?.since ?? "unknown"}): ` +
        `choose another with --slot N, or end it with ` +
        `"npm run cluster -- down --slot ${slot.number} --state-dir ${claimed}"`,
    );
  }
  const record = readRecord(stateDir);
  if (record !== undefined) {
    const state = record.ready && findSandbox(stateDir, "cluster") !== undefined ? "is up" : "was not ended cleanly";
    throw new Error(`a cluster ${state} in ${stateDir} (since ${record.since}): run "npm run cluster -- down" first`);
  }
  if (existsSync(stateDir) && readdirSync(stateDir).length > 0) {
    throw new Error(`${stateDir} is not empty and was not made by this tool: choose another with --state-dir`);
  }
}

function claim(slot: Slot, stateDir: string, options: ClusterOptions): ClusterRecord {
  mkdirSync(stateDir, { recursive: true, mode: 0o711 });
  keepInMemory(stateDir);
  mkdirSync(join(stateDir, "logs"), { mode: 0o711 });
  writeFileSync(claimFile(slot), stateDir);
  const { nodes, parts, upstreamInPlace } = options;
  const since = new Date().toISOString();
  return writeRecord(stateDir, {
    slot: slot.number,
    nodes,
    parts,
    upstreamInPlace,
    checkout: process.cwd(),
    since,
    ready: false,
  });
}

function toolGroups({ nodes, parts }: ClusterOptions): ToolGroupName[] {
  const groups: ToolGroupName[] = ["init", "etcd", "kubernetes"];
  if (nodes > 0) groups.push("containerd");
  if (nodes > 0 && parts.includes("jobset")) groups.push("jobset");
  if (nodes > 0 && parts.includes("cert-manager")) groups.push("certManager");
  if (parts.includes("dns")) groups.push("coredns");
  return groups;
}

function addressesOf(slot: Slot): ControlPlaneAddresses {
  return {
    bind: "0.0.0.0",
    server: `https://${slot.gateway}:${API_PORT}`,
    // The cluster has its own network namespace, so default ports are free and the `kubernetes` Service needs no rule.
    port: API_PORT,
    etcdPort: 2379,
    etcdPeerPort: 2380,
    serviceRange: slot.serviceRange,
    certificateAddresses: [slot.gateway, slot.serviceAddress],
  };
}

function nodeIndexes(nodes: number): number[] {
  return Array.from({ length: nodes }, (_, index) => index + 1);
}

function removeIfEmpty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
}
