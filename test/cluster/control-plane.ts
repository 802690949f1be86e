// etcd, kube-apiserver and, on request, kube-controller-manager and kube-scheduler, as real processes.
// `startControlPlane` runs them on loopback for one test file, without root. The local cluster runs them in namespaces.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { type Binaries, ensureBinaries } from "./binaries.ts";
import { type Credentials, createCredentials } from "./credentials.ts";
import { httpsStatus } from "./https.ts";
import { type Kubectl, kubectlFor } from "./kubectl.ts";
import { childRunner, type ProgramRunner, type RunningProgram, waitUntilReady } from "./processes.ts";
import { terminalProgress } from "./progress.ts";

export interface ControlPlane {
  /** Such as https://127.0.0.1:6443. */
  readonly server: string;
  /** Path of an admin kubeconfig file. */
  readonly kubeconfig: string;
  readonly credentials: Credentials;
  readonly kubectl: Kubectl;
  /** Sends SIGKILL and waits for the end. */
  killApiServer(): Promise<void>;
  /** Starts it on the same port and waits until it is ready. */
  startApiServer(): Promise<void>;
  /** Runs another program that ends with the control plane. */
  run(name: string, argv: readonly string[]): Promise<RunningProgram>;
  /** The process of each program, by its name. */
  pids(): Readonly<Record<string, number>>;
  /** Creates a folder for the files of such a program. */
  readonly folder: string;
  /** Drops etcd's history, so that watches from an older resource version get 410 Gone. */
  compactEtcd(): Promise<void>;
  stop(): Promise<void>;
}

export interface ControlPlaneOptions {
  readonly apiServerFlags?: readonly string[];
  /** Also kube-controller-manager (Jobs, garbage collection, service accounts' ConfigMaps). Default: no. */
  readonly controllerManager?: boolean;
  readonly controllerManagerFlags?: readonly string[];
}

/** For clusters without nodes. No connection uses these addresses, because Services resolve to endpoints. */
const LOOPBACK_SERVICE_RANGE = "10.202.255.0/24";
const READY_TIMEOUT_MS = 60_000;

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = await ensureBinaries(["etcd", "kubernetes"], terminalProgress());
  const folder = mkdtempSync(join(tmpdir(), "reprise-control-plane-"));
  const [port, etcdPort, etcdPeerPort] = [await freePort(), await freePort(), await freePort()];
  const addresses: ControlPlaneAddresses = {
    bind: "127.0.0.1",
    server: `https://127.0.0.1:${port}`,
    port,
    etcdPort,
    etcdPeerPort,
    serviceRange: LOOPBACK_SERVICE_RANGE,
    certificateAddresses: [],
  };
  const programs = new ControlPlanePrograms(binaries, folder, addresses, childRunner(folder), [
    // Nothing runs behind the `kubernetes` Service here, and a loopback endpoint would be refused anyway.
    "--endpoint-reconciler-type=none",
    ...(options.apiServerFlags ?? []),
  ]);
  const stop = async () => {
    await programs.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await programs.startEtcd();
    await programs.startApiServer();
    if (options.controllerManager === true) await programs.startControllerManager(options.controllerManagerFlags);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    server: addresses.server,
    kubeconfig: programs.kubeconfig,
    credentials: programs.credentials,
    kubectl: kubectlFor(binaries("kubernetes", "kubectl"), programs.kubeconfig),
    killApiServer: () => programs.killApiServer(),
    startApiServer: () => programs.startApiServer(),
    run: (name, argv) => programs.run(name, argv),
    pids: () => programs.pids,
    folder,
    compactEtcd: () => compactEtcd(etcdPort),
    stop,
  };
}

export interface ControlPlaneAddresses {
  /** What the API server listens on. */
  readonly bind: string;
  /** What clients use. */
  readonly server: string;
  readonly port: number;
  readonly etcdPort: number;
  readonly etcdPeerPort: number;
  readonly serviceRange: string;
  /** Further addresses the serving certificate must be valid for. */
  readonly certificateAddresses: readonly string[];
}

/** The programs and their flags, wherever they run. */
export class ControlPlanePrograms {
  readonly credentials: Credentials;
  readonly kubeconfig: string;
  readonly #binaries: Binaries;
  readonly #folder: string;
  readonly #addresses: ControlPlaneAddresses;
  readonly #runner: ProgramRunner;
  readonly #apiServerFlags: readonly string[];
  readonly #running = new Map<string, RunningProgram>();

  constructor(
    binaries: Binaries,
    folder: string,
    addresses: ControlPlaneAddresses,
    runner: ProgramRunner,
    apiServerFlags: readonly string[],
  ) {
    this.#binaries = binaries;
    this.#folder = folder;
    this.#addresses = addresses;
    this.#runner = runner;
    this.#apiServerFlags = apiServerFlags;
    this.credentials = createCredentials(join(folder, "pki"), addresses.server, addresses.certificateAddresses);
    this.kubeconfig = this.credentials.path("admin.kubeconfig");
  }

  async startEtcd(): Promise<void> {
    const { etcdPort, etcdPeerPort } = this.#addresses;
    const data = join(this.#folder, "etcd");
    mkdirSync(data, { recursive: true, mode: 0o700 });
    const [client, peer] = [`http://127.0.0.1:${etcdPort}`, `http://127.0.0.1:${etcdPeerPort}`];
    const etcd = await this.run("etcd", [
      this.#binaries("etcd", "etcd"),
      `--data-dir=${data}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      "--unsafe-no-fsync", // A test cluster need not survive a power loss.
      "--log-level=warn",
    ]);
    // The API server waits for etcd, so it is enough that etcd did not exit at once.
    await waitUntilReady(etcd, READY_TIMEOUT_MS, async () => etcd.alive());
  }

  async startApiServer(): Promise<void> {
    const { bind, server, port, etcdPort, serviceRange } = this.#addresses;
    const file = this.credentials.path;
    const apiServer = await this.run("kube-apiserver", [
      this.#binaries("kubernetes", "kube-apiserver"),
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      `--bind-address=${bind}`,
      `--advertise-address=${new URL(server).hostname}`,
      `--secure-port=${port}`,
      `--service-cluster-ip-range=${serviceRange}`,
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      "--allow-privileged=true",
      // The API server dials the endpoints of a webhook's Service, so the cluster needs no kube-proxy.
      "--enable-aggregator-routing=true",
      "--kubelet-preferred-address-types=InternalIP",
      `--kubelet-client-certificate=${file("admin.crt")}`,
      `--kubelet-client-key=${file("admin.key")}`,
      `--client-ca-file=${file("ca.crt")}`,
      `--tls-cert-file=${file("apiserver.crt")}`,
      `--tls-private-key-file=${file("apiserver.key")}`,
      `--service-account-key-file=${file("sa.pub")}`,
      `--service-account-signing-key-file=${file("sa.key")}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--cert-dir=${join(this.#folder, "apiserver-certs")}`,
      ...this.#apiServerFlags,
    ]);
    const { authority, admin } = this.credentials;
    await waitUntilReady(apiServer, READY_TIMEOUT_MS, async () => {
      return (await httpsStatus(`${server}/readyz`, { ...admin, ca: authority.cert })) === 200;
    });
  }

  async startControllerManager(flags: readonly string[] = []): Promise<void> {
    const file = this.credentials.path;
    const user = "system:kube-controller-manager";
    await this.run("kube-controller-manager", [
      this.#binaries("kubernetes", "kube-controller-manager"),
      `--kubeconfig=${this.credentials.kubeconfig("controller-manager", user, user)}`,
      "--use-service-account-credentials",
      `--root-ca-file=${file("ca.crt")}`,
      `--service-account-private-key-file=${file("sa.key")}`,
      `--cluster-signing-cert-file=${file("ca.crt")}`,
      `--cluster-signing-key-file=${file("ca.key")}`,
      "--leader-elect=false",
      "--secure-port=0",
      ...flags,
    ]);
  }

  async startScheduler(): Promise<void> {
    const user = "system:kube-scheduler";
    await this.run("kube-scheduler", [
      this.#binaries("kubernetes", "kube-scheduler"),
      `--kubeconfig=${this.credentials.kubeconfig("scheduler", user, user)}`,
      "--leader-elect=false",
      "--secure-port=0",
    ]);
  }

  async killApiServer(): Promise<void> {
    await this.#running.get("kube-apiserver")?.kill();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.values()].map((program) => program.kill()));
  }

  get pids(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#running].map(([name, { pid }]) => [name, pid]));
  }

  async run(name: string, argv: readonly string[]): Promise<RunningProgram> {
    const program = await this.#runner.run(name, argv);
    this.#running.set(name, program);
    return program;
  }
}

/** Uses etcd's JSON gateway, so that no etcdctl is needed. */
async function compactEtcd(port: number): Promise<void> {
  const call = async (path: string, body: object): Promise<unknown> => {
    const url = `http://127.0.0.1:${port}/v3/kv/${path}`;
    const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
    return await response.json();
  };
  const range = (await call("range", { key: Buffer.from("/").toString("base64") })) as { header: { revision: string } };
  await call("compaction", { revision: range.header.revision, physical: true });
}
