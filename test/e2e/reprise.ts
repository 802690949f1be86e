// reprise on the local cluster. The webhook and the controller run as processes of this machine, with the permissions
// from the manifests. The agent runs from an image on every node.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { nativeArch } from "../../scripts/architectures.ts";
import { buildAgent } from "../../scripts/build-agent.ts";
import { connect } from "../../src/kube/client.ts";
import { Cluster, type ClusterOptions, down } from "../cluster/cluster.ts";
import { writeImage } from "../cluster/image.ts";
import { childRunner, type RunningProgram } from "../cluster/processes.ts";
import { silentProgress } from "../cluster/progress.ts";
import { run } from "../cluster/run.ts";
import { slot } from "../cluster/slot.ts";
import {
  applyManifests,
  buildBundle,
  type ControllerConfig,
  createNamespace,
  type Home,
  registerWebhook,
  runController,
  runWebhook,
  type ServedWebhook,
  type Server,
} from "../reprise-programs.ts";
import type { Home as GroupHome } from "./group.ts";
import { freeTestSlot } from "./test-slot.ts";

export interface Reprise {
  readonly webhook: ServedWebhook;
  readonly controller: RunningProgram;
  readonly logFolder: string;
  readonly apiServer: Server;
  /** Starts another replica, or a replacement for one that was killed. `server` can be a proxy. */
  startController(server?: Server): Promise<RunningProgram>;
  stop(): Promise<void>;
}

/** A cluster with reprise, and a namespace with injection enabled. */
export interface Installation extends GroupHome {
  readonly cluster: Cluster;
  readonly reprise: Reprise;
  end(): Promise<void>;
}

const AGENT_IMAGE = "docker.io/local/reprise-agent:1";

/** Neither back-off nor escalation, for tests in which a worker fails many times in a row. */
export const UNDETERRED: ControllerConfig = { controller: { escalateAfter: 0, backoff: { after: 10_000 } } };

export async function startReprise(cluster: Cluster, config: ControllerConfig = {}): Promise<Reprise> {
  const folder = mkdtempSync(join(tmpdir(), "reprise-programs-"));
  const address = slot(cluster.record.slot).hostAddress;
  const home: Home = { folder, runner: childRunner(folder), address };
  const bundle = await buildBundle(home);
  cluster.load(agentImage(folder));
  await applyManifests(cluster.kubectl);
  const apiServer = { url: cluster.server, ca: readFileSync(join(cluster.stateDir, "pki", "ca.crt"), "utf8") };
  const injection = { agentImage: AGENT_IMAGE, agentPullPolicy: "Never" };
  const webhook = await runWebhook(home, bundle, injection, { kubectl: cluster.kubectl, server: apiServer });
  await registerWebhook(cluster.kubectl, webhook);
  const controllers: RunningProgram[] = [];
  const startController = async (server = apiServer) => {
    const started = await runController(home, bundle, cluster.kubectl, server, config);
    controllers.push(started);
    return started;
  };
  return {
    webhook,
    controller: await startController(),
    logFolder: folder,
    apiServer,
    startController,
    async stop() {
      await Promise.all([webhook.program, ...controllers].map((program) => program.kill()));
      rmSync(folder, { recursive: true });
    },
  };
}

export async function install(
  options: Partial<Pick<ClusterOptions, "parts" | "upstreamInPlace" | "controllerManagerFlags">> = {},
  config: ControllerConfig = {},
): Promise<Installation> {
  const slot = freeTestSlot();
  const fixed = { slot, nodes: 2, progress: silentProgress } as const;
  const cluster = await Cluster.up({ parts: ["jobset"], upstreamInPlace: false, ...options, ...fixed });
  try {
    const reprise = await startReprise(cluster, config);
    const { kubectl, kubeconfig } = cluster;
    const namespace = "training";
    await createNamespace(kubectl, namespace);
    const client = connect({ kubeconfig });
    const end = async () => {
      try {
        await client.close();
        await reprise.stop();
      } finally {
        await down(slot);
      }
    };
    return { cluster, reprise, kubectl, client, namespace, end };
  } catch (error) {
    await down(slot);
    throw error;
  }
}

/** The output of the reprise CLI, as an administrator runs it. */
export async function runCli({ reprise, cluster }: Installation, ...args: readonly string[]): Promise<string> {
  const bundle = join(reprise.logFolder, "reprise.js");
  const { stdout } = await promisify(execFile)(process.execPath, [bundle, ...args, "--kubeconfig", cluster.kubeconfig]);
  return stdout;
}

/** The compiled agent with the shared libraries of this machine. */
function agentImage(folder: string): string {
  const binary = buildAgent(nativeArch(), join(folder, "agent"));
  const libraries = run(["ldd", binary]).matchAll(/(\/\S+)/g);
  const files = [...new Set([...libraries].map(([path]) => path))].filter(existsSync);
  const archive = join(folder, "images", "agent.tar");
  mkdirSync(join(folder, "images"));
  writeImage(
    {
      name: AGENT_IMAGE,
      files: [
        { path: "/usr/local/bin/reprise-agent", source: { file: binary } },
        ...files.map((path) => ({ path, source: { file: path } })),
      ],
      entrypoint: ["/usr/local/bin/reprise-agent"],
      user: "65532",
    },
    archive,
  );
  return archive;
}
