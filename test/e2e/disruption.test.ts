// Disruptions that a group survives, on real kubelets: Pods deleted or evicted, a lost node, and a controller or an API
// server that is killed in the middle of a restart.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitForJobSet } from "../cluster/parts/jobset.ts";
import { waitFor } from "../cluster/proc.ts";
import type { RunningProgram } from "../cluster/processes.ts";
import { type GroupState, kill, type PodState, scripted, TrainingGroup, waitsIn } from "./group.ts";
import { loseNode, nodesAreBack, wakeNode } from "./lost-node.ts";
import { ownProcesses } from "./own-processes.ts";
import { onNode, preferring, spread } from "./placement.ts";
import { type Installation, install } from "./reprise.ts";
import { connected, dependent, REST } from "./scripts.ts";
import { SharedFolder } from "./shared-folder.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 300_000 });

let installation: Installation;
let leader: RunningProgram;

beforeAll(async () => {
  // Kubelets report every 10 s, so 20 s tells a lost node from a slow one. The default is 50 s.
  installation = await install({ controllerManagerFlags: ["--node-monitor-grace-period=20s"] });
  leader = installation.reprise.controller;
});

afterAll(async () => {
  await installation?.end();
});

/** The names of the Pods that exist before and after. A replacement has another name. */
function kept(before: GroupState, after: GroupState): readonly string[] {
  const uids = new Set(after.pods.map(({ uid }) => uid));
  return before.pods.filter(({ uid }) => uids.has(uid)).map(({ name }) => name);
}

function split({ pods }: GroupState): { readonly victim: PodState; readonly others: readonly PodState[] } {
  const [victim, ...others] = pods;
  if (victim === undefined) throw new Error("the group has no Pods");
  return { victim, others };
}

/** Waits until every other Pod has restarted in place and waits at the barrier for the replacement. */
async function othersWait(group: TrainingGroup, before: GroupState, others: readonly PodState[]): Promise<GroupState> {
  const next = before.syncedEpoch + 1;
  return await group.reached("waits for the replacement", ({ syncedEpoch, pods }) => {
    const waiting = pods.filter((pod) => others.some(({ uid }) => uid === pod.uid) && waitsIn(next, pod));
    return syncedEpoch === before.syncedEpoch && waiting.length === others.length;
  });
}

describe.concurrent("a Pod that disappears", () => {
  test("deleted: the others restart when its workers have ended and wait for a new Pod, counted once", async () => {
    const { kubectl, namespace } = installation;
    const label = "example.com/deleted";
    await kubectl(["label", "nodes", "--all", `${label}=yes`]);
    const group = await TrainingGroup.start(installation, "deleted", {
      stages: { workers: 3 },
      podSpec: { workers: { nodeSelector: { ...onNode("node-1").nodeSelector, [label]: "yes" } } },
    });
    const before = await group.running();
    const { victim, others } = split(before);
    // No replacement can be scheduled for now.
    await kubectl(["label", "nodes", "--all", `${label}-`]);
    await kubectl(["-n", namespace, "delete", "pod", victim.name, "--wait=false"]);
    await othersWait(group, before, others);
    // A failure in the middle of a restart.
    const [other] = others;
    const { agent } = ownProcesses(other?.uid ?? "");
    if (agent === undefined) throw new Error("the agent of the other Pod runs");
    process.kill(agent, "SIGKILL");
    await waitFor(
      "another agent runs",
      60_000,
      () => ![undefined, agent].includes(ownProcesses(other?.uid ?? "").agent),
    );
    await othersWait(group, before, others);
    await kubectl(["label", "nodes", "--all", `${label}=yes`]);
    const after = await group.restarted(before.syncedEpoch + 1);
    expect(kept(before, after)).toEqual(others.map(({ name }) => name));
    expect(after).toMatchObject({ restarts: 1, history: [{ cause: { reason: "PodDeleted" }, counted: true }] });
    await group.delete();
  });

  test("evicted: the others restart when its workers have ended and wait for a new Pod, not counted", async () => {
    const { client, namespace } = installation;
    const group = await TrainingGroup.start(installation, "evicted", {
      stages: { workers: 3 },
      maxRestarts: 0,
      ...away,
    });
    const before = await group.running();
    const { victim, others } = split(before);
    await client.request("POST", `/api/v1/namespaces/${namespace}/pods/${victim.name}/eviction`, {
      body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: victim.name, namespace } },
    });
    await othersWait(group, before, others);
    const after = await group.restarted(before.syncedEpoch + 1);
    expect(kept(before, after)).toEqual(others.map(({ name }) => name));
    expect(after).toMatchObject({ restarts: 0, history: [{ cause: { reason: "Disruption" }, counted: false }] });
    await group.delete();
  });

  describe("on a lost node", () => {
    let lossy: Loss;
    let crashing: Loss;

    beforeAll(async () => {
      const { cluster } = installation;
      const folder = new SharedFolder(cluster, "power-off");
      folder.connect(["0", "1"]);
      const budget = { maxRestarts: 0, annotations: { "reprise.dev/node-loss-grace": "5s" } };
      const [loss, powerOff] = await Promise.all([
        TrainingGroup.start(installation, "node-loss", {
          ...budget,
          stages: { workers: 2 },
          podSpec: { workers: spread("node-loss") },
        }),
        TrainingGroup.start(installation, "power-off", {
          ...budget,
          stages: { lost: 1, peers: 2 },
          podSpec: {
            lost: { ...folder.podSpec(scripted(connected(["0", "1"], REST))), ...preferring("node-2") },
            peers: { ...folder.podSpec(scripted(dependent("$JOB_COMPLETION_INDEX"))), ...onNode("node-1") },
          },
        }),
      ]);
      const before = await Promise.all([loss.running(), powerOff.running()]);
      loseNode(cluster, 2);
      try {
        // Without power its containers end too, and the others lose their connections at once.
        for (const { node, agent, worker } of before[1].pods) if (node === "node-2") kill(agent, worker);
        [lossy, crashing] = await Promise.all([afterLoss(loss, before[0]), afterLoss(powerOff, before[1])]);
      } finally {
        wakeNode(cluster, 2);
      }
    });

    test("the others restart and wait until the node is back, and no restart counts", async () => {
      expect(lossy.others).toHaveLength(1);
      for (const { cause } of await historyAfter(lossy)) expect(cause.reason).toBe("Disruption");
    });

    test("peers that crash before the cause is known do not fail the JobSet, even if no restart is left", async () => {
      expect(crashing.others).toHaveLength(2);
      expect(crashing.outcome).toBe("none");
      // The crash ended the epoch, long before the node was missed.
      const [first] = await historyAfter(crashing);
      expect(first?.cause.reason).toMatch(/^(ContainerExited|PodRestarted)$/);
      expect(first?.cause.pod).toContain("power-off-peers-");
    });

    /** Waits until the others are at the barrier, and Kubernetes has given up the Pod on the lost node. */
    async function afterLoss(group: TrainingGroup, before: GroupState): Promise<Loss> {
      const others = before.pods.filter(({ node }) => node === "node-1");
      await othersWait(group, before, others);
      await group.reached("loses its Pod", ({ pods }) => {
        return pods.some(({ node, terminating }) => node === "node-2" && terminating);
      });
      return { group, before, others, outcome: (await group.jobSet()).outcome };
    }

    /** The restarts until every worker runs again. None may count, and the others keep their Pods. */
    async function historyAfter({ group, before, others }: Loss): Promise<GroupState["history"]> {
      const after = await group.restartedSince(before.syncedEpoch);
      expect(kept(before, after)).toEqual(others.map(({ name }) => name));
      // More than one record if the replacement started before the node's taints were removed.
      expect(after.history.filter(({ counted }) => counted)).toEqual([]);
      expect(after.restarts).toBe(0);
      await group.delete();
      return after.history;
    }
  });
});

/** A group with a Pod on a lost node, when the others have restarted and wait for it. */
interface Loss {
  readonly group: TrainingGroup;
  readonly before: GroupState;
  readonly others: readonly PodState[];
  readonly outcome: string;
}

describe("a controller that is killed", () => {
  test("in the middle of a restart: the next one completes the restart, and it counts once", async () => {
    const group = await TrainingGroup.start(installation, "orphan", { stages: { workers: 2 } });
    const before = await group.running();
    kill(split(before).victim.worker);
    await group.reached("is told to restart", ({ deprecatedEpoch }) => deprecatedEpoch === before.syncedEpoch);
    await leader.kill();
    leader = await installation.reprise.startController();
    expect(await group.restarted(before.syncedEpoch + 1)).toMatchObject({ restarts: 1 });
    await group.delete();
  });

  test("beside a standby: the standby handles a failure that happened meanwhile, and it counts once", async () => {
    const group = await TrainingGroup.start(installation, "takeover", { stages: { workers: 2 } });
    const before = await group.running();
    const standby = await installation.reprise.startController();
    await leader.kill();
    leader = standby;
    kill(split(before).victim.worker);
    const after = await group.restarted(before.syncedEpoch + 1);
    expect(after).toMatchObject({ restarts: 1, history: [{ counted: true }] });
    expect(kept(before, after)).toEqual(before.pods.map(({ name }) => name));
    await group.delete();
  });
});

test("a drained node: its Pods move to another node, the Pods there stay, and no restart counts", async () => {
  const { kubectl, client } = installation;
  // An earlier test lost this node.
  await nodesAreBack(client);
  const shape = {
    stages: { movers: 2, stayers: 2 },
    maxRestarts: 0,
    podSpec: { movers: preferring("node-2"), stayers: preferring("node-1") },
  };
  const group = await TrainingGroup.start(installation, "drained", shape);
  const before = await group.running();
  expect(nodesOf(before)).toEqual(["node-2", "node-2", "node-1", "node-1"]);
  try {
    await kubectl(["drain", "node-2", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s"]);
    const after = await group.restartedSince(before.syncedEpoch);
    expect(nodesOf(after)).toEqual(["node-1", "node-1", "node-1", "node-1"]);
    const stayers = before.pods.filter(({ stage }) => stage === "stayers");
    expect(kept(before, after)).toEqual(stayers.map(({ name }) => name));
    expect(after.restarts).toBe(0);
    // One, or two if the second Pod was evicted after the first had been replaced.
    expect([1, 2]).toContain(after.history.length);
    for (const record of after.history)
      expect(record).toMatchObject({ cause: { reason: "Disruption" }, counted: false });
  } finally {
    await kubectl(["uncordon", "node-2"]);
  }
  await group.delete();
  // JobSet's manager may have been on that node as well.
  await waitForJobSet(kubectl);
});

/** Longer than the renew deadline (4 s), the Lease duration (6 s) and the node monitor grace period (20 s here). */
const OUTAGE_MS = 30_000;

// The last test: for minutes afterwards the watches of Kubernetes' own controllers may lag. A Job then does not replace
// its Pods, and healthy nodes count as lost.
test("an API server outage and a dead leader: the standby completes the restart, others keep running", async () => {
  const { cluster, reprise } = installation;
  const [group, bystander] = await Promise.all([
    TrainingGroup.start(installation, "cut-off", { stages: { workers: 2 } }),
    TrainingGroup.start(installation, "bystander", { stages: { workers: 2 } }),
  ]);
  const standby = await reprise.startController();
  const [before, calm] = await Promise.all([group.running(), bystander.running()]);
  kill(split(before).victim.worker);
  await group.reached("is told to restart", ({ deprecatedEpoch }) => deprecatedEpoch === before.syncedEpoch);
  await cluster.program("kube-apiserver").kill();
  const outage = sleep(OUTAGE_MS);
  // Without the API server the leader must stop leading before the test kills it.
  await noLeader();
  await leader.kill();
  leader = standby;
  await outage;
  await cluster.startAgain("kube-apiserver");
  const completed = await group.restarted(before.syncedEpoch + 1);
  expect(completed).toMatchObject({ restarts: 1, history: [{ counted: true }] });
  expect(kept(before, completed)).toEqual(before.pods.map(({ name }) => name));
  // The other group did not notice the outage, and still recovers.
  const after = await bystander.running();
  expect(after).toMatchObject({ syncedEpoch: calm.syncedEpoch, restarts: 0, history: [] });
  expect(after.pods.map(({ worker }) => worker)).toEqual(calm.pods.map(({ worker }) => worker));
  // Kubernetes may have missed the nodes meanwhile, and a failure on a lost node does not count.
  await nodesAreBack(installation.client);
  kill(split(after).victim.worker);
  expect(await bystander.restarted(calm.syncedEpoch + 1)).toMatchObject({ restarts: 1 });
  await Promise.all([group.delete(), bystander.delete()]);
});

/** Waits until the controller has stopped leading. */
async function noLeader(): Promise<void> {
  const log = () => readFileSync(join(installation.reprise.logFolder, "reprise-controller.log"), "utf8");
  const ends = () => log().split("stopped leading").length;
  const before = ends();
  await waitFor("the controller stops leading", 60_000, () => ends() > before);
}

function nodesOf({ pods }: GroupState): readonly string[] {
  return pods.map(({ node }) => node);
}

/** On the node that is not lost. */
const away = { podSpec: { workers: onNode("node-1") } };
