// What can happen to a Pod that waits at the barrier, on real kubelets. Its kubelet stays responsible for it, and
// reports, deletes and restarts it like any other.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { AGENT } from "../../src/api/names.ts";
import { waitFor } from "../cluster/proc.ts";
import { type GroupState, type PodState, TrainingGroup, uids, waitsIn } from "./group.ts";
import { type Connection, connectionsTo, ownProcesses } from "./own-processes.ts";
import { type Installation, install, UNDETERRED } from "./reprise.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 300_000 });

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

  static async start(name: string, podSpec: Readonly<Record<string, unknown>> = {}): Promise<Waiting> {
    const label = `example.com/${name}`;
    const group = await TrainingGroup.start(installation, name, {
      stages: { early: 2, late: 1 },
      podSpec: {
        early: { nodeSelector: { "kubernetes.io/hostname": "node-2" }, ...podSpec },
        late: { nodeSelector: { [label]: "yes" }, ...podSpec },
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
  return pods.filter((pod) => waitsIn(1, pod));
}

/** The agents of the two Pods that waited from the beginning. */
function agentsOf({ pods }: Waiting): readonly (number | undefined)[] {
  return pods.filter((pod) => waitsIn(1, pod)).map(({ uid }) => ownProcesses(uid).agent);
}

/** Whatever a process sends to the API server adds to the bytes of a connection, or opens another one. */
function toApiServer(agent: number | undefined): readonly Connection[] {
  return connectionsTo(443, agent);
}

describe.concurrent("a Pod at the barrier", () => {
  // The first, because it takes longest.
  test("sends no request while it waits, for longer than an idle connection lasts", async () => {
    const waiting = await Waiting.start("silent");
    const agents = agentsOf(waiting);
    const before = agents.map(toApiServer);
    for (const { bytesSent } of before.flat()) expect(bytesSent).toBeGreaterThan(0);
    await sleep(IDLE_CONNECTION_MS + 5_000);
    expect(agentsOf(waiting)).toEqual(agents);
    // A connection that its requests no longer need may close. The one that is left watches.
    for (const [index, agent] of agents.entries()) {
      const now = toApiServer(agent);
      expect(now).not.toEqual([]);
      expect(before[index]).toEqual(expect.arrayContaining([...now]));
    }
    expect(uids(await waiting.complete())).toEqual(uids(waiting));
    await waiting.group.delete();
  });

  test("has its address in its status and its DNS name, and the log of its agent can be read", async () => {
    const { kubectl, namespace } = installation;
    const waiting = await Waiting.start("visible");
    const { pods } = await waiting.group.reached("has addresses", (state) => {
      return atBarrier(state).every(({ address }) => address !== "");
    });
    const waits = pods.filter((each) => waitsIn(1, each));
    // What cluster DNS answers for the names of the headless Service.
    const named = ["-n", namespace, "get", "endpointslices", "-l", "kubernetes.io/service-name=visible"];
    await waitFor("the names have addresses", 20_000, async () => {
      const found = await kubectl([
        ...named,
        "-o",
        "jsonpath={range .items[*].endpoints[*]}{.hostname}={.addresses[0]} {end}",
      ]);
      const expected = waits.map(({ name, address }) => `${name.replace(/-[^-]+$/, "")}=${address}`);
      return expected.every((each) => found.split(" ").includes(each));
    });
    expect((await waiting.group.pods()).filter(({ worker }) => worker.running)).toEqual([]);
    for (const pod of waits) {
      expect(await kubectl(["-n", namespace, "logs", pod.name, "-c", AGENT.container])).toContain("epoch published");
      expect(pod.phase).toBe("Pending");
    }
    await waiting.complete();
    await waiting.group.delete();
  });

  test("returns to the barrier when its agent dies, and no restart is counted", async () => {
    const waiting = await Waiting.start("dying-agent");
    const { uid } = waiting.victim;
    const { agent } = ownProcesses(uid);
    process.kill(agent ?? 0, "SIGKILL");
    await waitFor("another agent runs", 60_000, () => ![undefined, agent].includes(ownProcesses(uid).agent));
    await waiting.group.reached("waits again", (state) => atBarrier(state).length === 2);
    expect(uids(await waiting.complete())).toEqual(uids(waiting));
    await waiting.group.delete();
  });

  test("waits with a process as its startup probe under hostNetwork, where no port is free for every Pod", async () => {
    const waiting = await Waiting.start("host-network", { hostNetwork: true });
    await waitFor("the kubelet asks", 20_000, () =>
      waiting.pods.filter(({ node }) => node !== "").every(({ uid }) => ownProcesses(uid).probe !== undefined),
    );
    expect(uids(await waiting.complete())).toEqual(uids(waiting));
    await waiting.group.delete();
  });

  test("waits when its agent lacks permissions, its log says which one, and it goes when it is deleted", async () => {
    const { kubectl, namespace } = installation;
    // Its own service account, because groups that share an account share permissions.
    await kubectl(["-n", namespace, "create", "serviceaccount", "shut-out"]);
    const waiting = await Waiting.start("shut-out", { serviceAccountName: "shut-out" });
    const { name, uid } = waiting.victim;
    const bindings = await kubectl(["-n", namespace, "get", "rolebindings", "-o", "name"]);
    const own = bindings.split("\n").filter((binding) => binding.includes("shut-out"));
    await kubectl(["-n", namespace, "delete", ...own]);
    // Without a restart it would keep the watch that it has.
    process.kill(ownProcesses(uid).agent ?? 0, "SIGKILL");
    await waitFor("the log says it", 60_000, async () => {
      const said = await kubectl(["-n", namespace, "logs", name, "-c", AGENT.container]);
      return /403 .*cannot watch resource/.test(said);
    });
    await waiting.group.delete();
    await waiting.group.gone();
  });

  test.each([
    ["deleted", "leaving", []],
    ["deleted by force", "forced", ["--force", "--grace-period=0"]],
  ])("goes at once when it is %s, and its replacement joins the others", async (_how, group, force) => {
    const { kubectl, namespace } = installation;
    const waiting = await Waiting.start(group);
    const { name, uid } = waiting.victim;
    await kubectl(["-n", namespace, "delete", "pod", name, "--timeout=20s", ...force]);
    await waitFor("nothing of it runs", 20_000, () => ownProcesses(uid).agent === undefined);
    await waiting.group.reached("waits again", (state) => atBarrier(state).length === 2);
    const running = await waiting.complete();
    expect(uids(running)).not.toContain(uid);
    await waiting.group.delete();
  });

  test("goes at once when its JobSet is deleted", async () => {
    const waiting = await Waiting.start("dissolved");
    await waiting.group.delete();
    // The garbage collector of a new cluster learns of JobSets only after half a minute.
    await waitFor("the Pods are gone", 60_000, async () => (await waiting.group.pods()).length === 0);
    expect(agentsOf(waiting).filter((agent) => agent !== undefined)).toEqual([]);
  });

  test("goes when its JobSet is suspended, and starts when it is resumed", async () => {
    const waiting = await Waiting.start("suspended");
    await waiting.group.suspend(true);
    await waiting.group.gone();
    await waiting.group.suspend(false);
    await waiting.group.reached("waits again", (state) => atBarrier(state).length === 2);
    await waiting.complete();
    await waiting.group.delete();
  });
});

describe("Pods at the barrier", () => {
  /** How long a worker that did not wait would need to start. */
  const SETTLE_MS = 5_000;

  test.each([["kubelet-2"], ["containerd-2"]])("do not notice that %s is killed and comes back", async (program) => {
    const { cluster } = installation;
    const waiting = await Waiting.start(`${program.replace("-2", "")}-dies`);
    const before = agentsOf(waiting);
    process.kill(cluster.program(program).pid, "SIGKILL");
    await sleep(1_000);
    await cluster.startAgain(program);
    await sleep(SETTLE_MS);
    expect(agentsOf(waiting)).toEqual(before);
    expect(uids(await waiting.complete())).toEqual(uids(waiting));
    await waiting.group.delete();
  });

  test("start when the barrier has lifted while their kubelet was away", async () => {
    const { cluster, kubectl } = installation;
    const waiting = await Waiting.start("kubelet-late");
    process.kill(cluster.program("kubelet-2").pid, "SIGKILL");
    await kubectl(["label", "node", "node-1", "example.com/kubelet-late=yes"]);
    await waiting.group.reached("begins", ({ syncedEpoch }) => syncedEpoch === 1);
    await cluster.startAgain("kubelet-2");
    const running = await waiting.group.restarted(1);
    expect(running).toMatchObject({ restarts: 0, history: [] });
    expect(uids(running)).toEqual(uids(waiting));
    await waiting.group.delete();
  });

  test("wait on while the API server and the controller are killed", async () => {
    const { cluster, reprise } = installation;
    const waiting = await Waiting.start("nobody-home");
    const before = agentsOf(waiting);
    await reprise.controller.kill();
    process.kill(cluster.program("kube-apiserver").pid, "SIGKILL");
    await sleep(SETTLE_MS);
    expect(agentsOf(waiting)).toEqual(before);
    await cluster.startAgain("kube-apiserver");
    await reprise.startController();
    expect(uids(await waiting.complete())).toEqual(uids(waiting));
    expect(agentsOf(waiting)).toEqual(before);
    await waiting.group.delete();
  });
});
