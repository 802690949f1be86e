// The life of a group on real kubelets: startup order, suspension, completion, the end of the restart budget, and
// objects that users delete.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { type GroupState, hang, kill, TrainingGroup, worker } from "./group.ts";
import { type Installation, install, runCli } from "./reprise.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 300_000 });

let installation: Installation;

beforeAll(async () => {
  installation = await install();
});

afterAll(async () => {
  await installation?.end();
});

// Each test has its own group.
describe.concurrent("a group", () => {
  describe("at its end", () => {
    test("a failure after the last restart fails the JobSet, and its Pods are removed", async () => {
      const group = await TrainingGroup.start(installation, "spent", { stages: { workers: 2 }, maxRestarts: 1 });
      const { pods } = await group.running();
      kill(...pods.slice(0, 1).map(({ worker }) => worker));
      const restarted = await group.restarted(2);
      kill(...restarted.pods.slice(1).map(({ worker }) => worker));

      const { conditions } = await group.ended();
      expect(conditions).toContainEqual(
        expect.objectContaining({ type: "Failed", status: "True", reason: "ReachedMaxRestarts" }),
      );
      expect(await group.rawStatus()).toMatchObject({ terminalState: "Failed" });
      const failed = await group.reached("is shown as failed", ({ phase }) => phase === "Failed");
      expect(failed).toMatchObject({ restarts: 1, syncedEpoch: 2 });
      await group.gone();
    });

    test("on-partial-success continue: a succeeded worker delays neither a restart nor the completion", async () => {
      const annotations = { [ANNOTATION.onPartialSuccess]: "continue" };
      const group = await TrainingGroup.start(installation, "finish", { stages: { workers: 2 }, annotations });
      const { pods } = await group.running();
      const [finished, other] = pods;
      if (finished === undefined || other === undefined) throw new Error("two Pods run");
      await group.exitWorker(finished, 0);
      await group.reached("has a finished Pod", (state) => state.pods.some(({ phase }) => phase === "Succeeded"));
      kill(other.worker);
      const restarted = await group.restarted(2);
      expect(restarted).toMatchObject({ restarts: 1, ready: "2/2" });
      expect(restarted.pods).toMatchObject([
        { uid: finished.uid, phase: "Succeeded", epoch: 1 },
        { uid: other.uid, phase: "Running", epoch: 2 },
      ]);
      for (const pod of restarted.pods.filter(({ phase }) => phase === "Running")) await group.exitWorker(pod, 0);
      expect((await group.ended()).outcome).toBe("Completed");
      await group.reached("is shown as completed", ({ phase, restarts }) => phase === "Completed" && restarts === 1);
    });
  });

  describe("with a startup order", () => {
    test.each([
      ["dependsOn", { stage: { followers: { dependsOn: [{ name: "leaders", status: "Ready" }] } } }],
      ["startupPolicy InOrder", { spec: { startupPolicy: { startupPolicyOrder: "InOrder" } } }],
    ])("%s: a later stage joins without a restart, and waits for its turn again in a restart", async (order, more) => {
      const name = order === "dependsOn" ? "ready" : "in-order";
      const group = await TrainingGroup.start(installation, name, {
        stages: { leaders: 2, followers: 1 },
        podSpec: { leaders: { containers: [readyLate] } },
        ...more,
      });
      const running = await group.running();
      expect(running).toMatchObject({ restarts: 0, history: [] });
      expect(running.pods.map(({ worker }) => worker.restarts)).toEqual([0, 0, 0]);
      expect(await lead(group, running)).toBeGreaterThan(READY_AFTER_MS);

      kill(...podsOf(running, "followers").map(({ worker }) => worker));
      const restarted = await group.restarted(running.syncedEpoch + 1);
      expect(restarted.restarts).toBe(1);
      expect(restarted.pods.map(({ worker }) => worker.restarts)).toEqual([1, 1, 1]);
      expect(await lead(group, restarted)).toBeGreaterThan(READY_AFTER_MS);
      await group.delete();
    });

    test("dependsOn Complete: the next stage starts when the first has finished, and restarts without it", async () => {
      const group = await TrainingGroup.start(installation, "complete", {
        stages: { prepare: 1, train: 2 },
        stage: { train: { dependsOn: [{ name: "prepare", status: "Complete" }] } },
      });
      const first = await group.reached(
        "prepares",
        ({ pods }) => pods.length === 1 && pods[0]?.worker.running === true,
      );
      for (const pod of first.pods) await group.exitWorker(pod, 0);
      const running = await group.running();
      expect(running.restarts).toBe(0);
      kill(...running.pods.slice(-1).map(({ worker }) => worker));
      const restarted = await group.restarted(running.syncedEpoch + 1);
      expect(restarted.restarts).toBe(1);
      expect(restarted.pods.map(({ stage, phase }) => [stage, phase])).toEqual([
        ["prepare", "Succeeded"],
        ["train", "Running"],
        ["train", "Running"],
      ]);
      await group.delete();
    });
  });

  describe("whose objects change", () => {
    test("suspension and resumption never count as restarts", async () => {
      const group = await TrainingGroup.start(installation, "suspend", { stages: { workers: 2 }, maxRestarts: 3 });
      let { syncedEpoch } = await group.running();
      for (let time = 1; time <= 5; time += 1) {
        await group.suspend(true);
        await group.gone();
        await group.suspend(false);
        const resumed = await group.running();
        expect(resumed).toMatchObject({ restarts: 0, history: [] });
        expect(resumed.syncedEpoch).toBeGreaterThan(syncedEpoch);
        syncedEpoch = resumed.syncedEpoch;
      }
      const { pods } = await group.running();
      kill(...pods.slice(0, 1).map(({ worker }) => worker));
      expect(await group.restarted(syncedEpoch + 1)).toMatchObject({ restarts: 1 });
      await group.delete();
    });

    test("a JobSet that is deleted and recreated at once is a new group", async () => {
      const group = await TrainingGroup.start(installation, "again", { stages: { workers: 2 } });
      const before = await group.running();
      kill(...before.pods.slice(0, 1).map(({ worker }) => worker));
      const old = await group.restarted(2);
      await group.delete();
      await group.create();
      const { uid } = await group.jobSet();
      const renewed = await group.reached(
        "runs again",
        (state) => state.jobSetUid === uid && state.phase === "Running",
      );
      expect(renewed.jobSetUid).not.toBe(old.jobSetUid);
      expect(renewed).toMatchObject({ syncedEpoch: 1, restarts: 0, history: [] });
      kill(...(await group.running()).pods.slice(0, 1).map(({ worker }) => worker));
      expect(await group.restarted(2)).toMatchObject({ restarts: 1, jobSetUid: uid });
      await group.delete();
    });

    test("a restart by hand frees workers that hang, in place and uncounted, once for each request", async () => {
      const shape = { stages: { workers: 2 }, maxRestarts: 0 };
      const group = await TrainingGroup.start(installation, "hung", shape);
      const before = await group.running();
      hang(...before.pods.slice(0, 1).map(({ worker }) => worker));
      const where = ["hung", "-n", installation.namespace];
      const said = await runCli(installation, "restart", ...where, "--reason", "worker 0 hangs", "--wait");
      expect(said).toMatch(/^JobSet training\/hung: every worker runs in epoch 2, \d+\.\d s after the request/m);
      const after = await group.restarted(2);
      expect(after.pods.map(({ uid, worker }) => [uid, worker.restarts])).toEqual(
        before.pods.map(({ uid }) => [uid, 1]),
      );
      expect(after).toMatchObject({ restarts: 0, history: [{ cause: { reason: "Requested" }, counted: false }] });
      const request = after.history[0]?.cause.request ?? "";
      expect(request).toMatch(/^worker 0 hangs \(\S+, 20\d\d-.+Z\)$/);
      const events = ["get", "events", "-n", installation.namespace, "--field-selector", "reason=RestartingInPlace"];
      expect(await installation.kubectl(events)).toContain(`a restart was requested: "${request}"`);

      // From Git: the same text again restarts nothing, and another one restarts the group once.
      await group.apply({ [ANNOTATION.restartRequest]: request });
      await group.apply({ [ANNOTATION.restartRequest]: "from Git" });
      await group.restarted(3);
      await group.apply({ [ANNOTATION.restartRequest]: "from Git" });
      await group.apply({ [ANNOTATION.restartRequest]: request });
      await installation.kubectl([
        "annotate",
        "jobset",
        ...where,
        `${ANNOTATION.restartRequest}=by hand`,
        "--overwrite",
      ]);
      const last = await group.restarted(4);
      expect(last).toMatchObject({ restarts: 0, handledRequests: [request, "from Git", "by hand"] });
      expect(last.history).toHaveLength(3);
      await group.delete();
    });

    test("deleting the InPlaceRestart causes one restart that does not count", async () => {
      const group = await TrainingGroup.start(installation, "lost", { stages: { workers: 2 } });
      const before = await group.running();
      await installation.kubectl(["-n", installation.namespace, "delete", "inplacerestart", group.name]);
      const after = await group.restarted(before.syncedEpoch + 1);
      expect(after).toMatchObject({ restarts: 0, history: [{ cause: { reason: "StateLost" }, counted: false }] });
      expect(after.pods.map(({ uid, worker }) => [uid, worker.restarts])).toEqual(
        before.pods.map(({ uid }) => [uid, 1]),
      );
      kill(...after.pods.slice(0, 1).map(({ worker }) => worker));
      expect(await group.restarted(before.syncedEpoch + 2)).toMatchObject({ restarts: 1 });
      await group.delete();
    });
  });
});

/** Much longer than the time between the starts of Pods that do not wait for each other. */
const READY_AFTER_MS = 5_000;

/**
 * Not in /tmp, which survives a restart in place: the old file would make the next run ready at once. Only root may
 * write there.
 */
const READY_FILE = "/ready";

const readyLate = {
  ...worker("trainer", `sleep ${READY_AFTER_MS / 1_000}; touch ${READY_FILE}`),
  securityContext: { runAsUser: 0 },
  readinessProbe: { exec: { command: ["sh", "-c", `test -e ${READY_FILE}`] }, periodSeconds: 1 },
};

function podsOf({ pods }: GroupState, stage: string): GroupState["pods"] {
  return pods.filter((pod) => pod.stage === stage);
}

/** How long after the last leader the first follower started, in milliseconds. */
async function lead(group: TrainingGroup, state: GroupState): Promise<number> {
  const [leaders, followers] = await Promise.all([
    group.startOf(podsOf(state, "leaders")),
    group.startOf(podsOf(state, "followers")),
  ]);
  return followers.firstStart - leaders.lastStart;
}
