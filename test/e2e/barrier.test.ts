// What can happen to a Pod that waits at the barrier, on real kubelets. Until the agent's hook returns, the kubelet
// does nothing else for the Pod.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { GATE_TIMEOUT_SECONDS } from "../../agent/barrier/gate-socket.ts";
import { waitFor } from "../cluster/proc.ts";
import { type GroupState, type PodState, TrainingGroup, uids } from "./group.ts";
import { ownProcesses } from "./own-processes.ts";
import { type Installation, install, UNDETERRED } from "./reprise.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 300_000 });

const GATE_PATIENCE_MS = GATE_TIMEOUT_SECONDS * 1_000;

/** By default, bun closes a connection on which it receives nothing for this long. */
const IDLE_CONNECTION_MS = 120_000;

let installation: Installation;

beforeAll(async () => {
  installation = await install({}, UNDETERRED);
});

afterAll(async () => {
  await installation?.end();
});

/** Two Pods that wait at the barrier, on node-2, and a third that cannot be scheduled yet. */
class Waiting {
  readonly group: TrainingGroup;
  readonly pods: readonly PodState[];
  readonly #label: string;

  private constructor(group: TrainingGroup, pods: readonly PodState[], label: string) {
    this.group = group;
    this.pods = pods;
    this.#label = label;
  }

  static async start(name: string, serviceAccountName = "default"): Promise<Waiting> {
    const label = `example.com/${name}`;
    const group = await TrainingGroup.start(installation, name, {
      stages: { early: 2, late: 1 },
      podSpec: {
        early: { nodeSelector: { "kubernetes.io/hostname": "node-2" }, serviceAccountName },
        late: { nodeSelector: { [label]: "yes" }, serviceAccountName },
      },
    });
    const { pods } = await group.reached("waits at the barrier", (state) => atBarrier(state).length === 2);
    return new Waiting(group, pods, label);
  }

  get victim(): PodState {
    const [victim] = this.pods;
    if (victim === undefined) throw new Error("there is a Pod");
    return victim;
  }

  /** Waits until new processes hold the victim at the barrier. */
  async isBack(than: ReturnType<typeof ownProcesses>): Promise<void> {
    await waitFor("the Pod is back at the barrier", 60_000, () => {
      const { agent, gate } = ownProcesses(this.victim.uid);
      return agent !== undefined && gate !== undefined && agent !== than.agent && gate !== than.gate;
    });
  }

  /** Lets the third Pod start, and waits until all run. */
  async complete(): Promise<GroupState> {
    const { kubectl } = installation;
    expect((await this.group.pods()).filter(({ worker }) => worker.running)).toEqual([]);
    await kubectl(["label", "node", "node-1", `${this.#label}=yes`]);
    const running = await this.group.restarted(1);
    expect(running).toMatchObject({ restarts: 0, history: [] });
    return running;
  }
}

function atBarrier({ pods }: GroupState): PodState[] {
  return pods.filter(({ uid, epoch }) => epoch === 1 && ownProcesses(uid).gate !== undefined);
}

describe.concurrent("a Pod at the barrier", () => {
  test.each(["agent", "gate"] as const)(
    "returns to the barrier when its %s dies, and no restart is counted",
    async (part) => {
      const waiting = await Waiting.start(`dying-${part}`);
      const before = ownProcesses(waiting.victim.uid);
      process.kill(before[part] ?? 0, "SIGKILL");
      await waiting.isBack(before);
      expect(uids(await waiting.complete())).toEqual(uids(waiting));
      await waiting.group.delete();
    },
  );

  test("waits longer than the gate waits for a silent agent, and longer than an idle connection lasts", async () => {
    const waiting = await Waiting.start("patient");
    const before = ownProcesses(waiting.victim.uid);
    await sleep(Math.max(GATE_PATIENCE_MS, IDLE_CONNECTION_MS) + 20_000);
    expect(ownProcesses(waiting.victim.uid)).toEqual(before);
    expect(uids(await waiting.complete())).toEqual(uids(waiting));
    await waiting.group.delete();
  });

  test("restarts when its agent lacks permissions, and its status says which permission is missing", async () => {
    const { kubectl, namespace } = installation;
    // Its own service account, because groups that share an account share permissions.
    await kubectl(["-n", namespace, "create", "serviceaccount", "shut-out"]);
    const waiting = await Waiting.start("shut-out", "shut-out");
    const { name } = waiting.victim;
    const bindings = await kubectl(["-n", namespace, "get", "rolebindings", "-o", "name"]);
    const own = bindings.split("\n").filter((binding) => binding.includes("shut-out"));
    await kubectl(["-n", namespace, "delete", ...own]);
    const message = "jsonpath={.status.initContainerStatuses[0]..terminated.message}";
    await waitFor("the Pod's status says it", GATE_PATIENCE_MS + 60_000, async () => {
      const said = await kubectl(["-n", namespace, "get", "pod", name, "-o", message]);
      return /the gate ended before the barrier lifted; API server: 403 .*cannot patch resource "pods"/.test(said);
    });
    await waiting.group.delete();
    // The agent cannot see that the Pod is deleted.
    await waitFor(
      "the Pods are gone",
      GATE_PATIENCE_MS + 30_000,
      async () => (await waiting.group.pods()).length === 0,
    );
  });

  test("terminates soon when its JobSet is deleted, although its agent loses its permissions", async () => {
    const { kubectl, namespace } = installation;
    // Its own service account: with a shared one its agents would keep their permissions.
    await kubectl(["-n", namespace, "create", "serviceaccount", "dissolved"]);
    const waiting = await Waiting.start("dissolved", "dissolved");
    await waiting.group.delete();
    // The gate alone would end the Pods only after its own time limit.
    await waitFor("the Pods are gone", GATE_PATIENCE_MS / 2, async () => (await waiting.group.pods()).length === 0);
    for (const uid of uids(waiting)) {
      const { agent, gate } = ownProcesses(uid);
      expect({ agent, gate }).toEqual({ agent: undefined, gate: undefined });
    }
  });

  test.each([
    ["deleted", "leaving", []],
    ["deleted by force", "forced", ["--force", "--grace-period=0"]],
  ])("goes soon when it is %s, and its replacement joins the others", async (_how, group, force) => {
    const { kubectl, namespace } = installation;
    const waiting = await Waiting.start(group);
    const { name, uid } = waiting.victim;
    // Longer than the grace period and the longest pause between two requests of the agent.
    await kubectl(["-n", namespace, "delete", "pod", name, "--timeout=30s", ...force]);
    await waitFor("nothing of it runs", 30_000, () => {
      const { agent, gate } = ownProcesses(uid);
      return agent === undefined && gate === undefined;
    });
    await waiting.group.reached("waits again", (state) => atBarrier(state).length === 2);
    const running = await waiting.complete();
    expect(uids(running)).not.toContain(uid);
    await waiting.group.delete();
  });

  test("terminates soon when its JobSet is suspended, and starts when it is resumed", async () => {
    const waiting = await Waiting.start("suspended");
    await waiting.group.suspend(true);
    await waiting.group.gone();
    await waiting.group.suspend(false);
    await waiting.group.reached("waits again", (state) => atBarrier(state).length === 2);
    await waiting.complete();
    await waiting.group.delete();
  });
});

describe("a node with Pods at the barrier", () => {
  async function killKubelet({ pods }: Waiting): Promise<void> {
    process.kill(installation.cluster.program("kubelet-2").pid, "SIGKILL");
    await waitFor("gates and agents end with it", 20_000, () => {
      const own = pods.map(({ uid }) => ownProcesses(uid));
      return own.every(({ agent, gate }) => agent === undefined && gate === undefined);
    });
  }

  test("kubelet killed: when it is back, no worker starts and the Pods return to the barrier", async () => {
    const { cluster } = installation;
    const waiting = await Waiting.start("kubelet-dies");
    const before = ownProcesses(waiting.victim.uid);
    await killKubelet(waiting);
    await cluster.startAgain("kubelet-2");
    await waiting.isBack(before);
    expect(uids(await waiting.complete())).toEqual(uids(waiting));
    await waiting.group.delete();
  });

  test("kubelet killed, the last Pod arrives before it is back: the others join without a restart", async () => {
    const { cluster } = installation;
    const waiting = await Waiting.start("kubelet-late");
    await killKubelet(waiting);
    const completed = waiting.complete();
    await waiting.group.reached("begins", ({ syncedEpoch }) => syncedEpoch === 1);
    await cluster.startAgain("kubelet-2");
    expect(uids(await completed)).toEqual(uids(waiting));
    await waiting.group.delete();
  });

  test("container runtime killed: the Pods return to the barrier, and a worker that started is stopped", async () => {
    const { cluster } = installation;
    const waiting = await Waiting.start("runtime-dies");
    const before = ownProcesses(waiting.victim.uid);
    process.kill(cluster.program("containerd-2").pid, "SIGKILL");
    await cluster.startAgain("containerd-2");
    await waiting.isBack(before);
    await waiting.group.reached("has no worker", ({ pods }) => pods.every(({ worker }) => !worker.running));
    expect(uids(await waiting.complete())).toEqual(uids(waiting));
    await waiting.group.delete();
  });
});
