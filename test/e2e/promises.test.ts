// What a plain JobSet promises still holds after injection, on real kubelets: retries of initContainers, success
// policies, the user's own failure rules, probes, and time to save on SIGTERM.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { type GroupState, type PodState, podAt, scripted, TrainingGroup, uids, worker } from "./group.ts";
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

function podOf({ pods }: GroupState, stage: string): PodState {
  const pod = pods.find((each) => each.stage === stage);
  if (pod === undefined) throw new Error(`no Pod of ${stage} among ${pods.length}`);
  return pod;
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

// Not beside other groups: a kubelet that is busy overwrites the report of an exit before it has sent it.
test("podFailurePolicy: FailJob codes fail the JobSet, Ignore codes are not counted, others restart", async () => {
  const onCode = (action: string, code: number) => ({
    action,
    onExitCodes: { containerName: "trainer", operator: "In", values: [code] },
  });
  const group = await TrainingGroup.start(installation, "own-codes", {
    stages: { workers: 2 },
    // Without a failure policy JobSet fails with its first failed Job.
    spec: { failurePolicy: undefined },
    job: {
      workers: {
        backoffLimit: undefined,
        podFailurePolicy: { rules: [onCode("FailJob", 42), onCode("Ignore", 43)] },
      },
    },
    podSpec: { workers: { restartPolicy: "Never" } },
  });
  const before = await group.running();
  const record = JSON.parse((await group.jobSet()).annotations[ANNOTATION.status] ?? "{}");
  // Six is what Kubernetes gives a Job that does not say.
  expect(record).toMatchObject({ budget: { max: 6, from: "backoffLimit" } });

  await group.exitWorker(podAt(before, 0), 7);
  const crashed = await group.restarted(before.syncedEpoch + 1);
  // With the last line that it wrote, because nobody can read the log of that run with kubectl.
  const cause = { exitCode: 7, message: expect.stringContaining(`epoch ${before.syncedEpoch}`) };
  expect(crashed).toMatchObject({ restarts: 1, history: [{ cause, counted: true }] });
  await group.exitWorker(podAt(crashed, 0), 43);
  const ignored = await group.restarted(before.syncedEpoch + 2);
  expect(ignored).toMatchObject({ restarts: 1, history: [{ counted: true }, { counted: false }] });
  expect(uids(ignored)).toEqual(uids(before));
  await group.exitWorker(podAt(ignored, 1), 42);
  expect((await group.ended()).outcome).toBe("Failed");
  await group.reached("is shown as failed", ({ phase, restarts }) => phase === "Failed" && restarts === 1);
  await group.delete();
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

  const leaderIsFinal = {
    rules: [{ name: "leaderIsFinal", action: "FailJobSet", targetReplicatedJobs: ["leader"] }],
  };
  const BY_RULE = expect.objectContaining({
    type: "Failed",
    status: "True",
    reason: "FailJobSetFailurePolicyAction",
    message: expect.stringContaining("leaderIsFinal"),
  });

  test("a FailJobSet rule for the leader: its crash fails the JobSet, a follower's restarts in place", async () => {
    const group = await TrainingGroup.start(installation, "led", {
      stages: { leader: 1, followers: 2 },
      maxRestarts: 5,
      failurePolicy: leaderIsFinal,
    });
    const before = await group.running();
    await group.exitWorker(podOf(before, "followers"), 1);
    const restarted = await group.restarted(before.syncedEpoch + 1);
    expect(uids(restarted)).toEqual(uids(before));
    expect(restarted.restarts).toBe(1);

    await group.exitWorker(podOf(restarted, "leader"), 1);
    const exited = Date.now();
    const { outcome, restarts, conditions } = await group.ended();
    const seconds = (Date.now() - exited) / 1_000;
    process.stdout.write(`led: the JobSet failed ${seconds.toFixed(1)} s after the leader's exit\n`);
    expect(seconds).toBeLessThan(10);
    expect({ outcome, restarts }).toEqual({ outcome: "Failed", restarts: 0 });
    expect(conditions).toContainEqual(BY_RULE);
    await group.reached("is shown as failed", ({ phase, syncedEpoch }) => phase === "Failed" && syncedEpoch === 2);
    await group.delete();
  });

  test.each(["first", "second"])(
    "a FailJobSet rule for the leader holds when its followers crash with it (%s try)",
    async (nth) => {
      const name = `led-${nth}`;
      const folder = sharedFolder(name);
      folder.connect(["0", "1"]);
      const group = await TrainingGroup.start(installation, name, {
        stages: { leader: 1, followers: 2 },
        maxRestarts: 5,
        failurePolicy: leaderIsFinal,
        podSpec: {
          leader: {
            ...folder.podSpec(scripted(connected(["0", "1"], untilTold("crash"), "exit 1"))),
            ...onNode("node-1"),
          },
          followers: { ...folder.podSpec(scripted(dependent("$JOB_COMPLETION_INDEX"))), ...onNode("node-2") },
        },
      });
      await group.running();
      folder.touch("crash");
      const { outcome, conditions } = await group.ended();
      expect(outcome).toBe("Failed");
      expect(conditions).toContainEqual(BY_RULE);
      await group.delete();
    },
  );

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
    expect(after).toMatchObject({ restarts: 1, history: [{ cause: { pod: name }, counted: true }] });
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

    const savedIn = (epoch: number) => [0, 1, 2].map((index) => `saved-${epoch}-${index}`);

    test("all of them save for 20 s, and the JobSet runs on after it is resumed, without a restart", async () => {
      const { group, folder, before } = await startSaving("preempted");
      await group.suspend(true);
      await group.gone();
      expect(folder.files()).toEqual(savedIn(before.syncedEpoch));
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
      expect(folder.files()).toEqual(savedIn(before.syncedEpoch));
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
