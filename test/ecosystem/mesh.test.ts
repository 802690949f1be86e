// A webhook that changes Pods as a mesh does, beside reprise on real kubelets. It redirects no traffic.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AGENT } from "../../src/api/names.ts";
import { slot } from "../cluster/slot.ts";
import { type GroupShape, kill, type PodState, TrainingGroup, uids } from "../e2e/group.ts";
import { type Installation, install } from "../e2e/reprise.ts";
import { startNeighbor } from "../neighbor-webhook.ts";
import { createNamespace } from "../reprise-programs.ts";
import { BUSYBOX, firstOf, namesIn, podSpec, restart } from "./webhook-effects.ts";

const SHAPE: GroupShape = { stages: { workers: 2 } };

let installation: Installation;
let address: string;

beforeAll(async () => {
  installation = await install();
  address = slot(installation.cluster.record.slot).hostAddress;
});

afterAll(async () => {
  await installation?.end();
});

/** What a mesh adds to each Pod of its namespaces: its containers come first. The proxy is a native sidecar. */
describe("a webhook that puts a native sidecar in front of the agent of each Pod", () => {
  const namespace = "mesh";
  let stop = async () => {};
  let group: TrainingGroup;

  beforeAll(async () => {
    await createNamespace(installation.kubectl, namespace, { mesh: "true" });
    stop = await startNeighbor<{ spec: { initContainers?: readonly { name: string }[] } }>(installation.kubectl, {
      name: "zz-mesh",
      address,
      namespaces: { mesh: "true" },
      rule: { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] },
      patch: ({ spec: { initContainers = [] } }) => [
        { op: "add", path: "/spec/initContainers", value: [MESH.init, MESH.proxy, ...initContainers] },
      ],
    });
    group = await TrainingGroup.start({ ...installation, namespace }, "train", SHAPE);
  });

  afterAll(async () => {
    await stop();
  });

  test("starts the proxy, then the agent, then the workers", async () => {
    const pod = firstOf(await group.running());
    expect(namesIn((await podSpec(installation.kubectl, namespace, pod))["initContainers"])).toEqual([
      MESH.init.name,
      MESH.proxy.name,
      AGENT.container,
    ]);
    expectOrder(pod);
  });

  test("a restart in place restarts the proxy too, and in the same order", async () => {
    const before = await group.running();
    const after = await restart(group);
    for (const [index, pod] of after.pods.entries()) {
      expect(pod.containers[MESH.proxy.name]?.id).not.toBe(before.pods[index]?.containers[MESH.proxy.name]?.id);
      expectOrder(pod);
    }
  });

  test("a proxy that dies restarts alone, and the group runs on", async () => {
    const before = await group.running();
    const proxy = firstOf(before).containers[MESH.proxy.name];
    if (proxy === undefined) throw new Error("the Pod has no proxy");
    kill(proxy);
    const after = await group.reached("has another proxy", (state) => {
      const now = firstOf(state).containers[MESH.proxy.name];
      return now?.running === true && now.id !== proxy.id;
    });
    expect(after.pods.map(({ worker }) => worker.id)).toEqual(before.pods.map(({ worker }) => worker.id));
    expect(after).toMatchObject({ syncedEpoch: before.syncedEpoch, restarts: before.restarts });
  });

  test("an agent that dies behind the proxy restarts the group in place", async () => {
    const before = await group.running();
    kill(firstOf(before).agent);
    const after = await group.restartedSince(before.syncedEpoch);
    expect(uids(after)).toEqual(uids(before));
    for (const pod of after.pods) expectOrder(pod);
  });

  /** The kubelet reports whole seconds. */
  function expectOrder({ agent, worker, containers }: PodState): void {
    const proxy = containers[MESH.proxy.name];
    expect(proxy?.startedAt).toBeLessThanOrEqual(agent.startedAt);
    expect(agent.startedAt).toBeLessThanOrEqual(worker.startedAt);
  }
});

const MESH = {
  init: { name: "istio-init", image: BUSYBOX, command: ["true"] },
  proxy: {
    name: "istio-proxy",
    image: BUSYBOX,
    command: ["sh", "-c", "trap 'exit 0' TERM; touch /tmp/ready; while :; do sleep 0.3; done"],
    restartPolicy: "Always",
    startupProbe: { exec: { command: ["test", "-e", "/tmp/ready"] }, periodSeconds: 1, failureThreshold: 60 },
  },
} as const;
