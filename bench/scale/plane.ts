// The control plane of one side with its hollow fleet. Only what the side's users would install runs there: reprise
// beside a JobSet manager with its gate off, or the manager with its gate on and nothing of reprise.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type KubeClient, MERGE_PATCH } from "../../src/kube/client.ts";
import { type ControlPlane, startControlPlane } from "../../test/cluster/control-plane.ts";
import { runJobSet } from "../../test/cluster/parts/jobset.ts";
import { waitFor } from "../../test/cluster/proc.ts";
import type { RunningProgram } from "../../test/cluster/processes.ts";
import { UNDETERRED } from "../../test/e2e/reprise.ts";
import {
  applyManifests,
  buildBundle,
  type Home,
  registerWebhook,
  runController,
  runWebhook,
} from "../../test/reprise-programs.ts";
import { jobSetOf, namespaceOf, upstreamRights } from "../recovery/contenders.ts";
import { Fleet } from "./fleet.ts";
import type { Side } from "./side.ts";
import type { Size } from "./size.ts";

const NODE = "hollow";

/**
 * More requests than the default of 20 per second, so that a group is there within minutes. The hollow node sends no
 * heartbeats, and nothing must conclude that it is lost.
 */
const CONTROLLER_MANAGER_FLAGS = [
  "--kube-api-qps=1000",
  "--kube-api-burst=1000",
  "--controllers=*,-node-lifecycle-controller",
];

/** Groups are created at least this fast on two cores, and a little more. */
const START_LIMIT_MS = { least: 60_000, perPod: 120 };

export interface Plane {
  readonly side: Side;
  readonly client: KubeClient;
  readonly fleet: Fleet;
  /** Every process of this side, by name. */
  pids(): Readonly<Record<string, number>>;
  /** Starts another controller of reprise, which stands by, and returns when it is ready to lead. */
  standBy(): Promise<void>;
  /** All that were started so far, the oldest first. */
  readonly controllers: readonly RunningProgram[];
  stop(): Promise<void>;
}

/** Returns when every worker runs. */
export async function startPlane(side: Side, size: Size): Promise<Plane> {
  const controlPlane = await startControlPlane({
    controllerManager: true,
    controllerManagerFlags: CONTROLLER_MANAGER_FLAGS,
  });
  const client = connect({ kubeconfig: controlPlane.kubeconfig });
  let fleet: Fleet | undefined;
  const stop = async () => {
    fleet?.stop();
    await client.close();
    await controlPlane.stop();
  };
  try {
    await runJobSet(controlPlane, { upstreamInPlace: side === "upstream" });
    const controllers: RunningProgram[] = [];
    const standBy = side === "reprise" ? await runReprise(controlPlane, controllers) : absent;
    await createNode(client);
    fleet = await startFleet(side, size, controlPlane);
    const { kubectl } = controlPlane;
    const apply = (items: readonly object[]) =>
      kubectl(["apply", "-f", "-"], { input: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
    await apply([namespaceOf(side), ...(side === "upstream" ? upstreamRights() : [])]);
    await apply(jobSets(side, size));
    await allRun(fleet, size);
    const { pids } = fleet;
    return { side, client, fleet, pids: () => ({ ...controlPlane.pids(), ...pids }), standBy, controllers, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function absent(): never {
  throw new Error("this side has no controller of reprise");
}

/** Returns how to start another controller. */
async function runReprise(controlPlane: ControlPlane, controllers: RunningProgram[]): Promise<Plane["standBy"]> {
  const { kubectl, folder, server: url, credentials } = controlPlane;
  const home: Home = { folder: join(folder, "reprise"), runner: controlPlane, address: "127.0.0.1" };
  const server = { url, ca: credentials.authority.cert };
  await applyManifests(kubectl);
  const bundle = await buildBundle(home);
  const webhook = await runWebhook(home, bundle, { agentImage: "registry.example/agent:1" }, { kubectl, server });
  await registerWebhook(kubectl, webhook);
  const start = async () => {
    const name = ["reprise-controller", ...(controllers.length === 0 ? [] : [controllers.length + 1])].join("-");
    controllers.push(await runController(home, bundle, kubectl, server, { ...UNDETERRED, name }));
  };
  await start();
  return start;
}

async function createNode(client: KubeClient): Promise<void> {
  await client.request("POST", "/api/v1/nodes", { body: { metadata: { name: NODE } } });
  const ready = { type: "Ready", status: "True", reason: "KubeletReady" };
  const body = { status: { conditions: [ready], allocatable: { pods: "10000" }, capacity: { pods: "10000" } } };
  await client.request("PATCH", `/api/v1/nodes/${NODE}/status`, { body, contentType: MERGE_PATCH });
}

function startFleet(side: Side, { groups, pods }: Size, { server, credentials, folder }: ControlPlane): Promise<Fleet> {
  const { hostname: host, port } = new URL(server);
  // A kubelet's user, so that its requests pass the same admission and flow control.
  const { cert, key } = credentials.authority.issue({
    commonName: `system:node:${NODE}`,
    organization: "system:nodes",
  });
  const options = {
    server: { host, port: Number(port) },
    ca: credentials.authority.cert,
    cert,
    key,
    node: NODE,
    pods: groups * pods,
    folder: join(folder, "pods"),
  };
  return Fleet.start(side, options, join(folder, "fleet.log"));
}

function jobSets(side: Side, { groups, pods }: Size): readonly object[] {
  return Array.from({ length: groups }, (_, index) =>
    jobSetOf(side, pods, "stops", { name: `train-${index}`, nodeName: NODE }),
  );
}

async function allRun(fleet: Fleet, { groups, pods }: Size): Promise<void> {
  const limit = START_LIMIT_MS.least + groups * pods * START_LIMIT_MS.perPod;
  await waitFor(`${groups * pods} workers run`, limit, async () => (await fleet.state()).running === groups * pods);
  // Until Jobs and JobSets have counted them.
  await sleep(3_000);
}
