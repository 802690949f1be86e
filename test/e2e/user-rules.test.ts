// The user's own failure rules keep their meaning after injection, on real kubelets. Not beside other tests: a kubelet
// that is busy overwrites the report of an exit before it has sent it, and the rules are about exits.
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { podAt, podOf, scripted, TrainingGroup, uids } from "./group.ts";
import { onNode } from "./placement.ts";
import { type Installation, install } from "./reprise.ts";
import { connected, dependent, untilTold } from "./scripts.ts";
import { SharedFolder } from "./shared-folder.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 300_000 });

let installation: Installation;

beforeAll(async () => {
  installation = await install();
});

afterAll(async () => {
  await installation?.end();
});

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
  // With the last line that it wrote, because kubectl cannot show the log of that run.
  const cause = { exitCode: 7, message: expect.stringContaining("run 1") };
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
    const folder = new SharedFolder(installation.cluster, name);
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
