// Exit-code classes, the escalation ladder and the back-off, on real kubelets.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { type GroupState, podAt, TrainingGroup, uids, worker } from "./group.ts";
import { type Installation, install } from "./reprise.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 400_000 });

/** Longer than a recovery, so that only the back-off can hold the barrier. The defaults would take minutes. */
const BACKOFF = { after: 2, first: "12s", max: "15s" };

let installation: Installation;

beforeAll(async () => {
  installation = await install({}, { controller: { backoff: BACKOFF } });
});

afterAll(async () => {
  await installation?.end();
});

const CLASSES = { [ANNOTATION.failExitCodes]: "40-50", [ANNOTATION.recreateExitCodes]: "60" };
const FAIL_CODES = `${ANNOTATION.failExitCodes} (40-50)`;
const ONE = { workers: {} };
/** The second worker keeps running. */
const TWO = { workers: { containers: [worker(), worker("loader")] } };

// Not concurrent with other tests, because these measure seconds.
describe("a code of the fail class", () => {
  test.each([
    ["one container", "final-one", ONE],
    ["two containers", "final-two", TWO],
  ])("in a Pod with %s fails the JobSet within 5 s, without a restart", async (_, name, podSpec) => {
    const group = await TrainingGroup.start(installation, name, {
      stages: { workers: 2 },
      annotations: CLASSES,
      podSpec,
    });
    const { name: pod } = podAt(await group.running(), 0);
    await group.exitWorker(podAt(await group.running(), 0), 42);
    const exited = Date.now();
    const jobSet = await group.ended();
    const seconds = (Date.now() - exited) / 1_000;
    process.stdout.write(`${name}: the JobSet failed ${seconds.toFixed(1)} s after the exit\n`);
    expect(seconds).toBeLessThan(5);

    expect(jobSet).toMatchObject({ outcome: "Failed", restarts: 0 });
    const failed = jobSet.conditions.find(({ type }) => type === "Failed");
    const state = await group.reached("has failed", ({ phase }) => phase === "Failed");
    expect(state.restarts).toBe(0);
    // With one container the Pod fails as well, and JobSet's own rule may act first.
    if (name === "final-one" && failed?.reason === "FailJobSetFailurePolicyAction") return;
    expect(failed).toMatchObject({
      reason: "NonRetriableExitCode",
      message: `Pod ${pod}: container trainer exited with code 42, which ${FAIL_CODES} makes final`,
    });
    expect(await group.rawStatus()).toMatchObject({ terminalState: "Failed" });
    expect(state.history).toMatchObject([{ action: "FailJobSet", cause: { pod, container: "trainer", exitCode: 42 } }]);
    await group.delete();
  });
});

describe.concurrent("a code of the recreate class", () => {
  test.each([
    ["one container", "moved-one", ONE],
    ["two containers", "moved-two", TWO],
  ])("in a Pod with %s gives it, and no other, a new Pod", async (_, name, podSpec) => {
    const group = await TrainingGroup.start(installation, name, {
      stages: { workers: 3 },
      annotations: CLASSES,
      podSpec,
    });
    const before = await group.running();
    await group.exitWorker(podAt(before, 1), 60);
    const { pods, ...restarted } = await group.restarted(before.syncedEpoch + 1);
    // With one container the Pod may fail before it is deleted. Its Job then keeps it.
    const after = { ...restarted, pods: pods.filter(({ phase }) => phase !== "Failed") };

    expect(podAt(after, 1).uid).not.toBe(podAt(before, 1).uid);
    for (const index of [0, 2]) {
      expect(podAt(after, index).uid).toBe(podAt(before, index).uid);
      expect(podAt(after, index).worker.restarts).toBe(1);
    }
    expect(after.restarts).toBe(1);
    expect(after.history).toMatchObject([{ action: "RecreatePod", cause: { exitCode: 60 }, counted: true }]);
    await group.delete();
  });
});

describe.concurrent("any other code", () => {
  test("restarts the group in place, whichever of the two containers exits", async () => {
    const group = await TrainingGroup.start(installation, "in-place", {
      stages: { workers: 2 },
      annotations: CLASSES,
      podSpec: TWO,
    });
    const before = await group.running();
    await group.exitWorker(podAt(before, 0), 51, "loader");
    const after = await group.restarted(before.syncedEpoch + 1);
    expect(uids(after)).toEqual(uids(before));
    for (const { containers } of after.pods) {
      expect([containers["trainer"]?.restarts, containers["loader"]?.restarts]).toEqual([1, 1]);
    }
    expect(after.history).toMatchObject([{ action: "RestartInPlace" }]);
    const { candidates = [], pod, exitCode } = after.history[0]?.cause ?? {};
    // Without a report of the exit code it may not be known which Pod was the first. This one was seen first.
    expect(pod ?? candidates[0]).toBe(podAt(before, 0).name);
    if (exitCode !== undefined) expect({ pod, exitCode }).toEqual({ pod: podAt(before, 0).name, exitCode: 51 });
    await group.delete();
  });

  test("with the user's own Restart rule, restarts only that container", async () => {
    const alone = {
      restartPolicy: "Never",
      restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [5] } }],
    };
    const group = await TrainingGroup.start(installation, "alone", {
      stages: { workers: 2 },
      podSpec: { workers: { containers: [worker(), { ...worker("loader"), ...alone }] } },
    });
    const before = await group.running();
    await group.exitWorker(podAt(before, 0), 5, "loader");
    const after = await group.reached("has its loader back", (state) => {
      const loader = podAt(state, 0).containers["loader"];
      return loader?.running === true && loader.restarts === 1;
    });
    // A restart of the group would have begun by now.
    expect(after).toMatchObject({ syncedEpoch: before.syncedEpoch, deprecatedEpoch: before.deprecatedEpoch });
    expect(after.history).toEqual([]);
    const ids = ({ pods }: GroupState) => pods.map(({ agent, worker: trainer }) => [agent.id, trainer.id]);
    expect(ids(after)).toEqual(ids(before));
    expect(podAt(after, 1).containers["loader"]?.restarts).toBe(0);

    // The same container with another code restarts the group.
    await group.exitWorker(podAt(after, 0), 6, "loader");
    expect(await group.restarted(before.syncedEpoch + 1)).toMatchObject({ restarts: 1 });
    await group.delete();
  });
});

// Not beside other groups: a busy kubelet does not report how each Pod ended, and then no Pod is moved alone.
describe("a worker that always crashes", () => {
  test("climbs every rung of the ladder, and the history records each step", async () => {
    const group = await TrainingGroup.start(installation, "ladder", {
      stages: { workers: 2 },
      maxRestarts: 5,
      annotations: { [ANNOTATION.escalateAfter]: "2" },
      // Long enough to be observed running.
      podSpec: {
        workers: { containers: [worker("trainer", '[ "$JOB_COMPLETION_INDEX" != 1 ] || { sleep 2; exit 7; }')] },
      },
    });
    const first = await group.reached("runs", ({ pods, syncedEpoch }) => syncedEpoch === 1 && pods.length === 2);
    const moved = await group.reached("has a new Pod", ({ history, syncedEpoch, pods }) => {
      return history.length === 2 && syncedEpoch === 3 && pods.length === 2;
    });
    expect(moved.history).toMatchObject([{ action: "RestartInPlace" }, { action: "RecreatePod" }]);
    expect(podAt(moved, 0).uid).toBe(podAt(first, 0).uid);
    expect(podAt(moved, 1).uid).not.toBe(podAt(first, 1).uid);
    const recreated = await group.reached("is recreated", ({ history, syncedEpoch, pods }) => {
      return history.length === 4 && syncedEpoch === 5 && pods.length === 2;
    });
    expect(uids(recreated)).not.toContain(podAt(moved, 0).uid);
    expect(await group.jobSet()).toMatchObject({ restarts: 1, restartsCountTowardsMax: 1 });
    const end = await group.reached("fails", ({ phase }) => phase === "Failed");
    const jobSet = await group.ended();
    expect(jobSet.conditions.find(({ type }) => type === "Failed")).toMatchObject({ reason: "ReachedMaxRestarts" });

    const slot = "ladder-workers-0/1";
    expect(end.history.map(({ action, counted, streak }) => ({ action, counted, streak }))).toEqual([
      { action: "RestartInPlace", counted: true, streak: { restarts: 1, slot, failures: 1 } },
      { action: "RecreatePod", counted: true, streak: { restarts: 2, slot, failures: 2 } },
      { action: "RestartInPlace", counted: true, streak: { restarts: 3, slot, failures: 3 } },
      // JobSet recreates the Pods and counts the restart.
      { action: "RecreateJobSet", counted: false, streak: { restarts: 4, slot, failures: 4 } },
      { action: "RestartInPlace", counted: true, streak: { restarts: 5, slot, failures: 5 } },
      { action: "FailJobSet", counted: true, streak: { restarts: 6, slot, failures: 6 } },
    ]);
    const { kubectl, namespace } = installation;
    const selector = `regarding.name=${group.name},regarding.kind=JobSet`;
    const events = await kubectl([
      "-n",
      namespace,
      "get",
      "events.events.k8s.io",
      `--field-selector=${selector}`,
      "-o",
      "jsonpath={.items[*].reason}",
    ]);
    for (const reason of ["RestartingInPlace", "RecreatingPod", "RecreatingJobSet", "ReachedMaxRestarts"]) {
      expect(events).toContain(reason);
    }
    await group.delete();
  });

  test("waits for the back-off at the barrier, and no Pod is killed for it", async () => {
    const group = await TrainingGroup.start(installation, "slowed", {
      stages: { workers: 2 },
      annotations: { [ANNOTATION.escalateAfter]: "0" },
    });
    const before = await group.running();
    let state = before;
    for (const failure of [1, 2]) {
      await group.exitWorker(podAt(state, 0), 7);
      state = await group.restarted(before.syncedEpoch + failure);
    }
    expect(state.history.map(({ backoffUntil }) => backoffUntil)).toEqual([undefined, undefined]);
    for (const [failure, seconds] of [
      [3, 12],
      // Twice as long would exceed the cap.
      [4, 15],
    ] as const) {
      await group.exitWorker(podAt(state, 0), 7);
      const held = await group.reached(
        "holds its barrier",
        ({ history }) => history.at(-1)?.allRestarted !== undefined && history.length === failure,
      );
      const { backoffUntil = "" } = held.history.at(-1) ?? {};
      expect(held.conditions).toContainEqual(
        expect.objectContaining({
          type: "AtBarrier",
          status: "True",
          reason: "BackOff",
          message: `holding the barrier until ${backoffUntil}: ${failure} restarts in a row without progress`,
        }),
      );
      state = await group.restarted(before.syncedEpoch + failure);
      const record = state.history.at(-1);
      const heldMs = Date.parse(backoffUntil) - Date.parse(record?.failureSeen ?? "");
      const late = Date.parse(record?.synced ?? "") - Date.parse(backoffUntil);
      expect(heldMs).toBe(seconds * 1_000);
      expect(late).toBeGreaterThanOrEqual(0);
      // Allows for a timer and one write on a busy machine.
      expect(late).toBeLessThan(2_000);
      // The kubelet reports whole seconds.
      const lifted = Math.floor(Date.parse(backoffUntil) / 1_000) * 1_000;
      for (const { worker: trainer } of state.pods) expect(trainer.startedAt).toBeGreaterThanOrEqual(lifted);
    }
    expect(uids(state)).toEqual(uids(before));
    expect(state.pods.map(({ worker: trainer }) => trainer.restarts)).toEqual([4, 4]);
    await group.delete();
  });
});

describe.concurrent("a worker that fails after another has succeeded", () => {
  async function afterSuccess(name: string, annotations: Readonly<Record<string, string>>) {
    const group = await TrainingGroup.start(installation, name, { stages: { workers: 2 }, annotations });
    const before = await group.running();
    await group.exitWorker(podAt(before, 0), 0);
    await group.reached("has a finished Pod", (state) => podAt(state, 0).phase === "Succeeded");
    await group.exitWorker(podAt(before, 1), 7);
    return { group, before };
  }

  test("makes JobSet recreate both, which counts as one restart", async () => {
    const { group, before } = await afterSuccess("partial", {});
    const after = await group.restarted(2);
    expect(uids(after).filter((uid) => uids(before).includes(uid))).toEqual([]);
    expect(after.pods.map(({ phase }) => phase)).toEqual(["Running", "Running"]);
    expect(after).toMatchObject({ restarts: 0, history: [{ action: "RecreateJobSet", counted: false }] });
    expect(await group.jobSet()).toMatchObject({ restarts: 1, restartsCountTowardsMax: 1, outcome: "none" });
    await group.delete();
  });

  test("restarts alone if the annotation says so", async () => {
    const { group, before } = await afterSuccess("partial-on", { [ANNOTATION.onPartialSuccess]: "continue" });
    const after = await group.restarted(2);
    expect(uids(after)).toEqual(uids(before));
    expect(after.pods.map(({ phase }) => phase)).toEqual(["Succeeded", "Running"]);
    expect(after).toMatchObject({ restarts: 1, history: [{ action: "RestartInPlace", counted: true }] });
    await group.delete();
  });
});
