// What a plain JobSet promises still holds after injection, on real kubelets: retries of initContainers, success
// policies, probes, and time to save on SIGTERM.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type GroupState, podAt, podOf, scripted, TrainingGroup, uids, worker } from "./group.ts";
import { keepJobSetOn, onNode, preferring, spread } from "./placement.ts";
import { type Installation, install } from "./reprise.ts";
import { connected, dependent, savesOnTerm, savesTogether, untilTold } from "./scripts.ts";
import { SharedFolder } from "./shared-folder.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 300_000 });

let installation: Installation;

beforeAll(async () => {
  installation = await install();
  // A later test drains node-2.
  await keepJobSetOn(installation.kubectl, "node-1");
});

afterAll(async () => {
  await installation?.end();
});

function sharedFolder(name: string): SharedFolder {
  return new SharedFolder(installation.cluster, name);
}

// Not concurrent with other tests, because the reports of two kubelets race with each other.
describe("a driver that succeeds while its workers crash", () => {
  async function startDriven(name: string, maxRestarts: number) {
    const folder = sharedFolder(name);
    folder.connect(["0", "1"]);
    const driver = scripted(connected(["0", "1"], untilTold("done"), "exit 0"));
    const follower = scripted(dependent("$JOB_COMPLETION_INDEX"));
    const group = await TrainingGroup.start(installation, name, {
      stages: { driver: 1, workers: 2 },
      maxRestarts,
      spec: { successPolicy: { operator: "All", targetReplicatedJobs: ["driver"] } },
      podSpec: {
        driver: { ...folder.podSpec(driver), ...onNode("node-1") },
        workers: { ...folder.podSpec(follower), ...onNode("node-2") },
      },
    });
    await group.running();
    return { group, succeed: () => folder.touch("done") };
  }

  test.concurrent.each([
    ["no restart", 0],
    ["three restarts", 3],
  ])(
    "completes the JobSet, with a budget of %s, three times of three, and nothing restarts",
    async (_, maxRestarts) => {
      const runs = await Promise.all([1, 2, 3].map((run) => startDriven(`success-${maxRestarts}-${run}`, maxRestarts)));
      for (const { group, succeed } of runs) {
        succeed();
        const { outcome, restarts } = await group.ended();
        const state = await group.reached(
          "is shown as ended",
          ({ phase }) => phase === "Completed" || phase === "Failed",
        );
        expect({ outcome, restarts }).toEqual({ outcome: "Completed", restarts: 0 });
        expect(state).toMatchObject({ phase: "Completed", restarts: 0, history: [] });
        await group.delete();
      }
    },
  );
});

describe.concurrent("a plain JobSet's own promise", () => {
  test("an initContainer that fails twice and then succeeds is retried alone, and restarts no worker", async () => {
    const attempt = "[ ! -e /tmp/second ] || exit 0; [ ! -e /tmp/first ] || : > /tmp/second; : > /tmp/first; exit 1";
    const fetch = { ...scripted(attempt, "fetch"), volumeMounts: [{ name: "tmp", mountPath: "/tmp" }] };
    const group = await TrainingGroup.start(installation, "retried", {
      stages: { workers: 2 },
      maxRestarts: 0,
      podSpec: { workers: { initContainers: [fetch] } },
    });
    const running = await group.running();
    expect(running).toMatchObject({ syncedEpoch: 1, restarts: 0, history: [] });
    for (const { containers, agent, worker: trainer } of running.pods) {
      expect(containers["fetch"]?.restarts).toBe(2);
      expect([agent.restarts, trainer.restarts]).toEqual([0, 0]);
    }
    await group.delete();
  });

  test("a worker whose livenessProbe fails: the kubelet renews its sandbox, and the group restarts once", async () => {
    const { kubectl, namespace } = installation;
    const livenessProbe = {
      exec: { command: ["sh", "-c", "test ! -e /tmp/sick"] },
      // The worker removes the file when it starts.
      initialDelaySeconds: 2,
      periodSeconds: 1,
      failureThreshold: 1,
    };
    const group = await TrainingGroup.start(installation, "probed", {
      stages: { workers: 2 },
      podSpec: { workers: { containers: [{ ...worker("trainer", "rm -f /tmp/sick"), livenessProbe }] } },
    });
    const before = await group.running();
    const { name } = podAt(before, 0);
    const address = () => kubectl(["-n", namespace, "get", "pod", name, "-o", "jsonpath={.status.podIP}"]);
    const addressBefore = await address();
    await kubectl(["-n", namespace, "exec", name, "-c", "trainer", "--", "touch", "/tmp/sick"]);
    const after = await group.restarted(before.syncedEpoch + 1);
    expect(uids(after)).toEqual(uids(before));
    expect(after).toMatchObject({ restarts: 1, history: [{ counted: true }] });
    const [record] = after.history;
    expect(record?.cause.candidates ?? [record?.cause.pod]).toEqual([name]);
    expect(await address()).not.toBe(addressBefore);
    await group.delete();
  });

  describe("suspend gives every worker its grace period", () => {
    const SAVE_S = 20;

    async function startSaving(name: string) {
      const folder = sharedFolder(name);
      const group = await TrainingGroup.start(installation, name, {
        stages: { workers: 3 },
        maxRestarts: 0,
        podSpec: {
          workers: {
            ...folder.podSpec(scripted(savesOnTerm(SAVE_S))),
            ...spread(name),
            terminationGracePeriodSeconds: 2 * SAVE_S,
          },
        },
      });
      return { group, folder, before: await group.running() };
    }

    const savedIn = (run: number) => [0, 1, 2].map((index) => `saved-${run}-${index}`);

    test("all of them save for 20 s, and the JobSet continues after it is resumed, without a restart", async () => {
      const { group, folder, before } = await startSaving("preempted");
      await group.suspend(true);
      await group.gone();
      expect(folder.files("saved-")).toEqual(savedIn(before.syncedEpoch));
      await group.suspend(false);
      const resumed = await group.running();
      expect(resumed).toMatchObject({ restarts: 0, history: [] });
      expect(resumed.syncedEpoch).toBeGreaterThan(before.syncedEpoch);
      await group.delete();
    });

    test("also if it is resumed while they save", async () => {
      const { group, folder, before } = await startSaving("wavering");
      await group.suspend(true);
      await group.reached("ends", ({ pods }) => pods.every(({ terminating }) => terminating));
      await group.suspend(false);
      const resumed = await group.restartedSince(before.syncedEpoch);
      expect(folder.files("saved-")).toEqual(savedIn(before.syncedEpoch));
      expect(resumed.restarts).toBe(0);
      expect(resumed.history.filter(({ counted }) => counted)).toEqual([]);
      await group.delete();
    });
  });
});

describe("one of four workers is drained while all save a checkpoint together", () => {
  const SAVE_S = 3;
  const EVERY_RANK = [0, 1, 2, 3];
  let jobs: readonly { readonly group: TrainingGroup; readonly folder: SharedFolder }[];

  beforeAll(async () => {
    const pod = (folder: SharedFolder, rank: string) => ({
      ...folder.podSpec(scripted(savesTogether(rank, EVERY_RANK.length, SAVE_S))),
      terminationGracePeriodSeconds: 30,
    });
    jobs = await Promise.all(
      [1, 2, 3, 4, 5].map(async (each) => {
        const name = `together-${each}`;
        const folder = sharedFolder(name);
        const group = await TrainingGroup.start(installation, name, {
          stages: { stayers: 3, mover: 1 },
          maxRestarts: 0,
          podSpec: {
            stayers: { ...pod(folder, "$JOB_COMPLETION_INDEX"), ...onNode("node-1") },
            mover: { ...pod(folder, "3"), ...preferring("node-2") },
          },
        });
        return { group, folder };
      }),
    );
    return () => Promise.all(jobs.map(({ group }) => group.delete()));
  });

  /** Waits until each group runs again, and expects that it has saved a complete checkpoint before. */
  async function expectSaved(before: readonly GroupState[]): Promise<void> {
    await Promise.all(
      jobs.map(async ({ group, folder }, index) => {
        const epoch = before[index]?.syncedEpoch ?? 0;
        const after = await group.restartedSince(epoch);
        expect(folder.files(`checkpoint-${epoch}-`)).toEqual(EVERY_RANK.map((rank) => `checkpoint-${epoch}-${rank}`));
        expect(after.restarts).toBe(0);
      }),
    );
  }

  test("kubectl drain: four of four checkpoints are complete, in each of five JobSets", async () => {
    const { kubectl } = installation;
    const before = await Promise.all(jobs.map(({ group }) => group.running()));
    expect(before.map((state) => podOf(state, "mover").node)).toEqual(jobs.map(() => "node-2"));
    try {
      await kubectl(["drain", "node-2", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s"]);
      await expectSaved(before);
    } finally {
      await kubectl(["uncordon", "node-2"]);
    }
  });

  test("eviction: four of four checkpoints are complete, in each of five JobSets", async () => {
    const { client, namespace } = installation;
    const before = await Promise.all(jobs.map(({ group }) => group.running()));
    for (const state of before) {
      const { name } = podOf(state, "stayers");
      await client.request("POST", `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, {
        body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } },
      });
      // Not at the same moment, so that the groups do not move in step.
      await sleep(500);
    }
    await expectSaved(before);
  });
});
