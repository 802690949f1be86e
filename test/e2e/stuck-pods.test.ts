// Pods on lost nodes, with real kubelets that are stopped: which Pods are freed, and what the waiting group reports.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type Condition, readConditions } from "../../src/api/metadata.ts";
import { KUEUE } from "../../src/api/names.ts";
import { readNode } from "../../src/api/node.ts";
import { asList, asMap, asText } from "../../src/json/fields.ts";
import { hasStatus } from "../../src/kube/api-error.ts";
import { JSON_PATCH } from "../../src/kube/client.ts";
import { waitFor } from "../cluster/proc.ts";
import { type GroupState, TrainingGroup } from "./group.ts";
import { loseNode, nodesAreBack, wakeNode } from "./lost-node.ts";
import { keepJobSetOn, onNode, spread } from "./placement.ts";
import { type Installation, install, runCli } from "./reprise.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 400_000 });

/** Longer than a node needs to become reachable again, so that it can be back in time. */
const THRESHOLD_S = 25;
const CONSENT = "reprise.dev/safe-to-forcefully-delete";

let installation: Installation;

beforeAll(async () => {
  installation = await install(
    // Kubelets report every 10 s, so 20 s tells a lost node from a slow one. The default is 50 s.
    { controllerManagerFlags: ["--node-monitor-grace-period=20s", "--node-monitor-period=1s"] },
    { stuckPods: { threshold: `${THRESHOLD_S}s` } },
  );
  await keepJobSetOn(installation.kubectl, "node-1");
});

afterAll(async () => {
  await installation?.end();
});

describe("a node that stays lost", () => {
  let annotated: TrainingGroup;
  let plain: TrainingGroup;
  let before: { readonly annotated: GroupState; readonly plain: GroupState };
  let lostAt: number;
  let freedAt: number;

  beforeAll(async () => {
    const { kubectl } = installation;
    await kubectl(["create", "namespace", "elsewhere"]);
    [annotated, plain] = await Promise.all([
      startSpread("annotated", { [CONSENT]: "true" }),
      startSpread("plain", {}),
      createPod("training", "old-name", { [KUEUE.safeToForcefullyTerminate]: "true" }),
      createPod("training", "new-name", { [KUEUE.safeToForcefullyDelete]: "true" }),
      createPod("training", "refused", { [CONSENT]: "false" }),
      createPod("elsewhere", "not-opted-in", { [CONSENT]: "true" }),
    ]);
    const [first, second] = await Promise.all([annotated.running(), plain.running()]);
    before = { annotated: first, plain: second };
    lostAt = Date.now();
    loseNode(installation.cluster, 2);
  });

  afterAll(() => {
    wakeNode(installation.cluster, 2);
  });

  test("a stuck Pod with consent is freed, its replacement runs elsewhere, and the group recovers", async () => {
    const lost = before.annotated.pods.find(({ node }) => node === "node-2");
    await annotated.reached("loses a Pod", ({ pods }) => pods.some(({ terminating }) => terminating));
    const waiting = await annotated.reached("says what it waits for", (state) => awaited(state) !== undefined);
    expect(awaited(waiting)).toMatchObject({ reason: "NodeUnreachable" });
    expect(awaited(waiting)?.message).toMatch(
      new RegExp(`^waiting for Pod ${lost?.name} to terminate: .* on node node-2, .*it is forcefully deleted at `),
    );
    await annotated.reached("has the stuck Pod freed", ({ pods }) => pods.every(({ uid }) => uid !== lost?.uid));
    freedAt = Date.now();
    const after = await annotated.restartedSince(before.annotated.syncedEpoch);
    const seconds = (Date.now() - lostAt) / 1_000;
    expect(after.pods.map(({ node }) => node)).toEqual(["node-1", "node-1"]);
    expect(after).toMatchObject({ restarts: 0, history: [{ cause: { reason: "Disruption" }, counted: false }] });
    expect(waitingCondition(after)?.status).toBe("False");
    const events = await eventsOf("training", lost?.uid ?? "");
    expect(events.filter(({ reason }) => reason === "ForcefullyDeleted")).toHaveLength(1);
    expect(freedPods().filter((name) => name === lost?.name)).toHaveLength(1);
    process.stdout.write(`\nnode lost → every worker runs again: ${seconds.toFixed(1)} s with reprise's freeing\n`);
  });

  test.each([
    ["old-name", KUEUE.safeToForcefullyTerminate],
    ["new-name", KUEUE.safeToForcefullyDelete],
  ])("a Pod without a JobSet, annotated with Kueue's name (%s), is freed the same way, once", async (name, key) => {
    const pod = await waitFor(`${name} is freed`, 90_000, async () => {
      const seen = await readPodOf("training", name);
      return seen?.graceSeconds === 0 ? seen : undefined;
    });
    expect(pod.phase).toBe("Failed");
    expect(pod.conditions.find(({ type }) => type === "RepriseFailureRecovery")).toMatchObject({
      status: "True",
      reason: "ForcefullyDeleted",
      message: expect.stringContaining(key),
    });
    const events = (await eventsOf("training", pod.uid)).filter(({ reason }) => reason === "ForcefullyDeleted");
    expect(events.map(({ note }) => note)).toEqual([expect.stringContaining("node node-2 is unreachable")]);
    // Only the test's finalizer remains.
    await removeFinalizers("training", name);
    await waitFor(`${name} is gone`, 10_000, async () => (await readPodOf("training", name)) === undefined);
    expect(freedPods().filter((freed) => freed === name)).toHaveLength(1);
  });

  test("a stuck Pod without consent is never touched, and the condition says why and what to do", async () => {
    // Both Pods were lost at the same moment, and with consent this one would have been freed with the other.
    const due = freedAt + THRESHOLD_S * 1_000;
    await waitFor("another threshold has passed", THRESHOLD_S * 1_000 + 10_000, () => Date.now() > due);
    const state = await plain.state();
    const lost = before.plain.pods.find(({ node }) => node === "node-2");
    expect(state?.pods.map(({ uid }) => uid)).toEqual(before.plain.pods.map(({ uid }) => uid));
    expect(state?.pods.find(({ uid }) => uid === lost?.uid)).toMatchObject({ terminating: true, phase: "Running" });
    expect(state?.syncedEpoch).toBe(before.plain.syncedEpoch);
    expect(state === undefined ? undefined : awaited(state)?.message).toContain(
      `kubectl annotate pod -n training ${lost?.name} ${CONSENT}=true`,
    );
    expect(await eventsOf("training", lost?.uid ?? "")).not.toContainEqual(
      expect.objectContaining({ reason: "ForcefullyDeleted" }),
    );
    const status = await runCli(installation, "status", "plain", "-n", "training");
    expect(status).toMatch(
      new RegExp(
        `waiting for Pod ${lost?.name} to terminate \\(terminating for \\d\\S+ on node node-2: unreachable\\)`,
      ),
    );
    expect(status).toContain(`kubectl delete pod -n training ${lost?.name} --force --grace-period=0`);
    expect(await runCli(installation, "status", "-A")).toMatch(
      new RegExp(`^training +plain +Restarting +\\d/2 +1 +0/3 +Pod ${lost?.name} to terminate`, "m"),
    );
    const seconds = (Date.now() - lostAt) / 1_000;
    process.stdout.write(`\nnode lost → still waiting after ${seconds.toFixed(0)} s without it\n`);
  });

  test.each([
    ["training", "refused"],
    ["elsewhere", "not-opted-in"],
  ])("in namespace %s, the Pod %s is left alone", async (namespace, name) => {
    const pod = await readPodOf(namespace, name);
    expect(pod).toMatchObject({ phase: "Running", graceSeconds: 1 });
    expect(freedPods()).not.toContain(name);
  });

  test("consent that is given while the group waits takes effect", async () => {
    const lost = before.plain.pods.find(({ node }) => node === "node-2");
    await installation.kubectl(["annotate", "pod", "-n", "training", lost?.name ?? "", `${CONSENT}=true`]);
    const after = await plain.restartedSince(before.plain.syncedEpoch);
    expect(after.pods.map(({ node }) => node)).toEqual(["node-1", "node-1"]);
    expect(freedPods()).toContain(lost?.name);
    await Promise.all([annotated.delete(), plain.delete()]);
  });
});

describe("nodes that come back", () => {
  afterEach(async () => {
    for (const index of [1, 2]) wakeNode(installation.cluster, index);
    await nodesAreBack(installation.client);
  });

  test("before the threshold: only their kubelets terminate their Pods", async () => {
    await nodesAreBack(installation.client);
    const group = await startSpread("back-in-time", { [CONSENT]: "true" });
    const before = await group.running();
    const lost = before.pods.find(({ node }) => node === "node-2");
    loseNode(installation.cluster, 2);
    await group.reached("loses a Pod", ({ pods }) => pods.some(({ terminating }) => terminating));
    wakeNode(installation.cluster, 2);
    const after = await group.restartedSince(before.syncedEpoch);
    expect(after.pods.map(({ uid }) => uid)).not.toContain(lost?.uid);
    expect(freedPods()).not.toContain(lost?.name);
    expect(await eventsOf("training", lost?.uid ?? "")).not.toContainEqual(
      expect.objectContaining({ reason: "ForcefullyDeleted" }),
    );
    await group.delete();
    await group.gone();
  });

  test("all lost at once: the control plane was cut off, so no Pod is freed", async () => {
    const group = await startSpread("cut-off", { [CONSENT]: "true" });
    const before = await group.running();
    for (const index of [1, 2]) loseNode(installation.cluster, index);
    await waitFor("both nodes are unreachable", 90_000, async () => (await unreachableNodes()).length === 2);
    for (const { name } of before.pods) {
      await installation.kubectl(["delete", "pod", "-n", "training", name, "--wait=false"]);
    }
    const due = Date.now() + (THRESHOLD_S + 10) * 1_000;
    const state = await group.reached("says that the brake holds", (seen) =>
      (awaited(seen)?.message ?? "").includes("stuckPods.brake"),
    );
    expect(awaited(state)?.reason).toBe("NodeUnreachable");
    await waitFor("the Pods would be freed by now", 60_000, () => Date.now() > due);
    const after = await group.state();
    expect(after?.pods.map(({ uid, phase }) => ({ uid, phase }))).toEqual(
      before.pods.map(({ uid }) => ({ uid, phase: "Running" })),
    );
    expect(controllerLog()).toContain("too many nodes are unreachable, not freeing Pods");
    for (const index of [1, 2]) wakeNode(installation.cluster, index);
    await group.restartedSince(before.syncedEpoch);
    for (const { name } of before.pods) expect(freedPods()).not.toContain(name);
    await group.delete();
  });
});

/** Two Pods on two nodes. The spread ignores a lost node, so that both can run on the other one. */
async function startSpread(name: string, annotations: Readonly<Record<string, string>>): Promise<TrainingGroup> {
  return await TrainingGroup.start(installation, name, {
    stages: { workers: 2 },
    maxRestarts: 3,
    annotations: { "reprise.dev/node-loss-grace": "3s", ...annotations },
    podSpec: { workers: spread(name, true) },
  });
}

function waitingCondition({ conditions }: GroupState): Condition | undefined {
  return conditions.find(({ type }) => type === "WaitingForTermination");
}

function awaited(state: GroupState): Condition | undefined {
  const condition = waitingCondition(state);
  return condition?.status === "True" ? condition : undefined;
}

/** A Pod on node-2 that is evicted soon after the node is lost. A finalizer keeps the object after it was freed. */
async function createPod(
  namespace: string,
  name: string,
  annotations: Readonly<Record<string, string>>,
): Promise<void> {
  const { client, kubectl } = installation;
  await kubectl(["wait", "serviceaccount/default", "-n", namespace, "--for=create", "--timeout=30s"]);
  const toleration = { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" };
  const body = {
    metadata: { name, annotations, finalizers: ["reprise.dev/test"] },
    spec: {
      ...onNode("node-2"),
      terminationGracePeriodSeconds: 1,
      tolerations: [{ ...toleration, tolerationSeconds: 3 }],
      containers: [{ name: "main", image: "local/busybox:1", command: ["sh", "-c", "sleep 100000"] }],
    },
  };
  await client.request("POST", `/api/v1/namespaces/${namespace}/pods`, { body });
  await kubectl(["wait", `pod/${name}`, "-n", namespace, "--for=condition=Ready", "--timeout=60s"]);
}

interface SeenPod {
  readonly uid: string;
  readonly phase: string;
  readonly graceSeconds: unknown;
  readonly conditions: readonly Condition[];
}

async function readPodOf(namespace: string, name: string): Promise<SeenPod | undefined> {
  try {
    const raw = await installation.client.request("GET", `/api/v1/namespaces/${namespace}/pods/${name}`);
    const [metadata, status] = [asMap(raw["metadata"]), asMap(raw["status"])];
    return {
      uid: asText(metadata["uid"]) ?? "",
      phase: asText(status["phase"]) ?? "",
      graceSeconds: metadata["deletionGracePeriodSeconds"],
      conditions: readConditions(status["conditions"]),
    };
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}

async function removeFinalizers(namespace: string, name: string): Promise<void> {
  const body = [{ op: "remove", path: "/metadata/finalizers" }];
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  await installation.client.request("PATCH", path, { body, contentType: JSON_PATCH });
}

async function eventsOf(namespace: string, uid: string): Promise<{ reason: string; note: string }[]> {
  const list = await installation.client.request("GET", `/apis/events.k8s.io/v1/namespaces/${namespace}/events`);
  return asList(list["items"])
    .map(asMap)
    .filter((event) => asMap(event["regarding"])["uid"] === uid)
    .map(({ reason, note }) => ({ reason: asText(reason) ?? "", note: asText(note) ?? "" }));
}

async function nodes(): Promise<readonly unknown[]> {
  return asList((await installation.client.request("GET", "/api/v1/nodes"))["items"]);
}

async function unreachableNodes(): Promise<string[]> {
  return (await nodes())
    .map(readNode)
    .filter(({ unreachable }) => unreachable !== undefined)
    .map(({ name }) => name);
}

function controllerLog(): string {
  return readFileSync(join(installation.reprise.logFolder, "reprise-controller.log"), "utf8");
}

/** The Pods that the controller logged as freed, once for each log line. */
function freedPods(): string[] {
  return controllerLog()
    .split("\n")
    .filter((line) => line.includes('"stuck Pod freed"'))
    .map((line) => asText(asMap(JSON.parse(line))["pod"]) ?? "");
}
