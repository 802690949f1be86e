import { describe, expect, it } from "vitest";
import { AGENT, ANNOTATION } from "../src/api/names.ts";
import type { Pod } from "../src/api/pod.ts";
import { observePod } from "./group/observe.ts";
import { DELETED, DISRUPTED, runningScene, Scene } from "./testing/scene.ts";

const [A, B] = ["workers-0/0", "workers-0/1"];

/** Both Pods are back from a restart in place and have published the next epoch. */
function comeBack(scene: Scene, epoch: number, run: string): Scene {
  return scene.at(epoch, A, B).settle().runs(run, A, B).settle();
}

describe("a group that starts", () => {
  it("creates the object of a JobSet that has none, and initialises it", () => {
    const scene = new Scene();
    expect(scene.step()).toEqual({ kind: "create", jobSetUid: "js" });
    scene.settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 0, syncedEpoch: 0, restarts: 0, phase: "Starting" });
    expect(scene.status).toMatchObject({ heldStages: [], history: [], ready: "0/2" });
  });

  it("lifts the barrier only when every slot has published the epoch", () => {
    const scene = new Scene().settle().job("workers-0").at(1, A).settle();
    expect(scene.epochs).toBe("0/0");
    scene.pod(B).settle();
    expect(scene.epochs).toBe("0/0");
    scene.at(1, B).settle();
    expect(scene.epochs).toBe("0/1");
  });

  it("waits for the Jobs that JobSet has not created yet", () => {
    const scene = new Scene({ workers: { pods: 2, replicas: 2 } }).settle().job("workers-0").at(1, A, B).settle();
    expect(scene.epochs).toBe("0/0");
    scene.job("workers-1").at(1, "workers-1/0", "workers-1/1").settle();
    expect(scene.epochs).toBe("0/1");
  });

  it("counts Pods that arrive before their Job as soon as the Job is known", () => {
    const scene = new Scene().settle().at(1, A, B).settle();
    expect(scene.epochs).toBe("0/0");
    expect(scene.job("workers-0").settle().epochs).toBe("0/1");
  });

  it("runs when every worker runs, and not before", () => {
    const scene = new Scene().settle().job("workers-0").at(1, A, B).settle().runs("a", A).settle();
    expect(scene.status.phase).toBe("Starting");
    expect(scene.runs("a", B).settle().status).toMatchObject({
      phase: "Running",
      ready: "2/2",
      restarts: 0,
      history: [],
    });
    expect(scene.notices).toEqual([]);
  });

  it("comes to rest: asked again, it decides nothing", () => {
    expect(runningScene().step()).toBeUndefined();
  });
});

describe("membership", () => {
  it("ignores a Pod that carries the labels of a member but is controlled by nobody it knows", () => {
    const scene = runningScene()
      .pod("stranger-0/0", { replicatedJob: "workers", injected: true })
      .at(2, "stranger-0/0");
    expect(scene.settle().epochs).toBe("0/1");
  });

  it("ignores Pods of a Job that belongs to another JobSet", () => {
    const scene = runningScene();
    scene
      .job("workers-7", { controller: { kind: "JobSet", name: "train", uid: "other" } })
      .at(2, "workers-7/0")
      .settle();
    expect(scene.epochs).toBe("0/1");
  });

  it("takes no Pod that is terminating for one that is there", () => {
    const scene = new Scene().settle().job("workers-0").at(1, A, B).pod(B, { deletion: DELETED }).settle();
    expect(scene.epochs).toBe("0/0");
  });

  it("does not start an epoch beside a Pod that may still run in an earlier one", () => {
    const scene = runningScene().pod(B, { deletion: DELETED }).settle().at(2, A, "workers-0/1#2").settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.forgetPod(B).settle().epochs).toBe("1/2");
  });

  /** Somebody has deleted the Job; JobSet has made it anew, and the Pods of the new one are at the barrier. */
  function jobMadeAnew(): Scene {
    const scene = runningScene().forgetJob("workers-0").settle();
    return scene.job("workers-1", { name: "train-workers-0" }).at(2, "workers-1/0", "workers-1/1").settle();
  }

  it("does not start an epoch beside Pods that a deleted Job has left behind", () => {
    const scene = jobMadeAnew();
    expect(scene.epochs).toBe("1/1");
    scene.pod(A, { deletion: DELETED }).pod(B, { phase: "Failed" }).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.forgetPod(A).settle()).toMatchObject({ epochs: "1/2", status: { restarts: 0 } });
  });

  it("does not either when its controller was replaced meanwhile", () => {
    expect(jobMadeAnew().restartController().settle().epochs).toBe("1/1");
  });

  it("waits for a Pod whose Job was deleted without it, and says what to do", () => {
    const scene = jobMadeAnew().forgetPod(A);
    const left = scene.group.members.get(B)?.pod;
    if (left === undefined) throw new Error("a Pod expected");
    // The garbage collector takes the owner away that no longer exists; the agent goes on to the next epoch.
    const { controller: _, ...orphan } = left;
    observePod(scene.group, { ...orphan, epoch: { kind: "present", epoch: 2 } }, scene.now);
    scene.settle();
    scene.now += 60_000;
    expect(scene.settle().notices.at(-1)).toMatchObject({
      reason: "BarrierStalled",
      note: `waiting for epoch 2, 1 missing: ${B} (its Job is gone and it still runs: delete it)`,
    });
    expect(scene.epochs).toBe("1/1");
    expect(scene.forgetPod(B).settle().epochs).toBe("1/2");
  });

  it("waits for no Pod of an earlier JobSet with the same name", () => {
    const scene = new Scene().settle().job("workers-0").at(1, A, B);
    scene.pod("workers-9/0", { jobSetUid: "earlier" });
    expect(scene.settle().epochs).toBe("0/1");
  });
});

describe("a worker that fails", () => {
  it("restarts the group at once, before its own Pod is back", () => {
    const scene = runningScene().fails(A, "a", 3).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.status).toMatchObject({ phase: "Restarting", restarts: 0 });
    expect(scene.status.history).toMatchObject([
      { cause: { reason: "ContainerExited", pod: A, container: "main", exitCode: 3 }, fromEpoch: 1, counted: true },
    ]);
    expect(scene.notices.map(({ reason, note }) => `${reason}: ${note}`)).toEqual([
      `RestartingInPlace: Pod ${A}: container main exited with code 3; restart 1 of 3`,
    ]);
  });

  it("is counted once, when the group is back, with the time of every step", () => {
    const scene = runningScene();
    scene.now += 1_000;
    scene.fails(A, "a");
    scene.now += 10;
    scene.settle();
    scene.now += 1_000;
    scene.at(2, A, B).settle();
    scene.now += 900;
    scene.runs("b", A, B).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, deprecatedEpoch: 1, restarts: 1, phase: "Running" });
    expect(scene.status.history).toEqual([
      {
        cause: { reason: "ContainerExited", pod: A, container: "main", exitCode: 1 },
        action: "RestartInPlace",
        rule: "end-epoch",
        streak: { restarts: 1, slot: "train-workers-0/0", failures: 1 },
        fromEpoch: 1,
        toEpoch: 2,
        counted: true,
        failureSeen: "2026-01-01T00:00:01.000Z",
        deprecated: "2026-01-01T00:00:01.010Z",
        allRestarted: "2026-01-01T00:00:02.010Z",
        synced: "2026-01-01T00:00:02.010Z",
        allRunning: "2026-01-01T00:00:02.910Z",
      },
    ]);
    expect(scene.notices.at(-1)).toMatchObject({ type: "Normal", reason: "RestartedInPlace" });
    expect(scene.notices.at(-1)?.note).toContain("1.9 s after the failure was seen");
  });

  it("and a second one at the same moment make one restart", () => {
    const scene = runningScene().fails(A, "a").fails(B, "a").settle();
    expect(comeBack(scene, 2, "b").status).toMatchObject({ syncedEpoch: 2, restarts: 1 });
  });

  it.each([
    ["of the last epoch, when the report comes after the next has begun", 1, "2/3"],
    ["of this one", 2, "3/3"],
  ])("in a run that nobody knew is one %s", (_, restartCount, epochs) => {
    const scene = runningScene().fails(A, "a").settle().at(2, A, B).settle();
    // It failed at once: its Pod was back before its kubelet had said anything.
    scene.at(3, A).settle().at(3, B).settle();
    expect(scene.epochs).toBe("2/3");
    const common = { containerID: `${A}:new`, started: true, ready: true, restartCount };
    const containers: Pod["containers"] = [
      { ...common, name: "main", init: false, state: { kind: "terminated", exitCode: 1, reason: "Error" } },
      { ...common, name: AGENT.container, init: true, state: { kind: "running" } },
    ];
    expect(scene.pod(A, { phase: "Running", containers }).settle().epochs).toBe(epochs);
  });

  it("in a run that nobody knew proves nothing to a controller that has just started", () => {
    const scene = runningScene().fails(A, "a").settle().at(2, A, B).settle().at(3, A).settle().at(3, B);
    scene.restartController().settle();
    expect(scene.epochs).toBe("2/3");
    expect(scene.fails(A, "b").settle().epochs).toBe("2/3");
    // Said again it is no newer.
    expect(scene.fails(A, "b").settle().epochs).toBe("2/3");
    expect(scene.runs("c", A).settle().fails(A, "c").settle().epochs).toBe("3/3");
  });

  it("is not seen again in the next epoch, whose Pod still shows the old status", () => {
    const scene = runningScene().fails(A, "a").settle().at(2, A, B).settle();
    expect(scene.epochs).toBe("1/2");
    scene.fails(A, "a").settle();
    expect(scene.epochs).toBe("1/2");
  });

  it("is seen in the next epoch when its run is a new one", () => {
    const scene = comeBack(runningScene().fails(A, "a").settle(), 2, "b").fails(B, "b").settle();
    expect(scene.epochs).toBe("2/2");
    expect(scene.status.history).toHaveLength(2);
  });

  it("restarts nobody when it exits with 0", () => {
    expect(runningScene().fails(A, "a", 0).settle().epochs).toBe("0/1");
  });

  it("restarts nobody when it is no worker", () => {
    const scene = runningScene();
    const [main, logger] = scene.group.members.get(A)?.pod.containers ?? [];
    if (main === undefined || logger === undefined) throw new Error("a Pod of the scene has two containers");
    scene.pod(A, { containers: [main, { ...logger, state: { kind: "terminated", exitCode: 1, reason: "Error" } }] });
    expect(scene.settle().epochs).toBe("0/1");
  });

  it("in five epochs one after the other makes five restarts", () => {
    const scene = runningScene({ failurePolicy: { maxRestarts: 5, restartStrategy: "Recreate" } });
    for (let epoch = 1; epoch <= 5; epoch += 1) {
      const run = epoch === 1 ? "a" : `a${epoch}`;
      scene.fails(epoch % 2 === 0 ? A : B, run).settle();
      // The last of them are held back for a while.
      scene.now += 30_000;
      comeBack(scene, epoch + 1, `a${epoch + 1}`);
    }
    expect(scene.status).toMatchObject({ syncedEpoch: 6, deprecatedEpoch: 5, restarts: 5, phase: "Running" });
  });
});

describe("a Pod that restarted unseen", () => {
  it("takes the group along by its newer epoch", () => {
    const scene = runningScene().at(2, A).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodRestarted", pod: A }, counted: true }]);
    expect(comeBack(scene, 2, "b").status.restarts).toBe(1);
  });

  it("is one restart even when it is the whole group", () => {
    const scene = runningScene().at(2, A, B).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 1, syncedEpoch: 2, restarts: 1 });
  });

  it("and is a new one was lost unseen, most likely to a disruption: it is not counted", () => {
    const scene = runningScene().forgetPod(A).restartController().settle();
    expect(scene.epochs).toBe("0/1");
    scene.at(2, "workers-0/0#2").settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodDeleted" }, counted: false }]);
    expect(scene.notices.at(-1)?.note).toBe("a Pod was deleted; not counted as a restart");
  });

  it("with an epoch that no agent can have taken is reported once and ignored", () => {
    const scene = runningScene().at(7, A);
    expect(scene.verdict().reports).toMatchObject([{ pod: { name: A }, reason: "EpochIgnored" }]);
    expect(scene.settle().epochs).toBe("0/1");
    expect(scene.verdict().reports).toEqual([]);
  });
});

describe("an epoch that no agent can have reached", () => {
  const FORGED = 2_147_483_647;

  it("does no harm while the group runs, and at the next restart costs its Pod and nobody else", () => {
    const scene = runningScene().at(FORGED, A).settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.fails(B, "a").settle().epochs).toBe("1/1");
    expect(scene.group.members.get(A)?.pod.deletion).toBeDefined();
    scene.forgetPod(A).at(2, "workers-0/0#2", B).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: 1 });
  });

  it.each([6, FORGED])("such as %i does not hide that its Pod restarts", (epoch) => {
    const scene = runningScene().at(epoch, A).settle();
    expect(scene.epochs).toBe("0/1");
    const { status } = scene.fails(A, "a").settle();
    expect(status).toMatchObject({ history: [{ cause: { reason: "PodRestarted", pod: A }, counted: true }] });
    expect(status.deprecatedEpoch).toBe(status.syncedEpoch);
  });

  it("costs no restart when its Pod finishes", () => {
    const scene = runningScene().at(6, A).settle();
    const done = { kind: "terminated", exitCode: 0, reason: "Completed" } as const;
    const containers = scene.group.members
      .get(A)
      ?.pod.containers.map((each) => (each.init ? each : { ...each, state: done }));
    expect(containers).not.toHaveLength(0);
    expect(scene.pod(A, { containers: containers ?? [] }).settle().epochs).toBe("0/1");
  });

  it("is reported with what becomes of its Pod", () => {
    const scene = runningScene().fails(B, "a").settle().at(FORGED, A);
    const note = `epoch ${FORGED} is ahead of the group, which is at 1; no agent can have taken it, and the Pod is replaced`;
    expect(scene.verdict().reports).toMatchObject([{ pod: { name: A }, reason: "EpochIgnored", note }]);
  });

  it("is not where a lost object goes on from", () => {
    const scene = runningScene().at(FORGED, A).loseObject().settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.forgetPod(A).at(2, "workers-0/0#2", B).settle().epochs).toBe("1/2");
  });

  it.each([1_000_000, 1_000_000_000])("is none that a lost object may have had, such as %i", (epoch) => {
    const scene = runningScene().at(epoch, A, B).loseObject().settle();
    expect(scene.epochs).toBe(`${epoch}/${epoch}`);
  });

  it("is none that an object made from an old view of the Pods lags behind", () => {
    const scene = new Scene().settle().job("workers-0").at(1_000, A).settle();
    expect(scene.epochs).toBe("1000/1000");
  });
});

describe("an epoch that no agent can have taken, in a stage whose turn has come", () => {
  it("costs its Pod when the stage has waited for it in vain", () => {
    const driver = "driver-0/0";
    const stages = { driver: { pods: 1 }, workers: { pods: 1 } };
    const scene = new Scene(stages, { startupOrder: "InOrder" }).settle().job("driver-0").at(1, driver).settle();
    scene.runs("a", driver).settle().job("workers-0").at(9, A).settle();
    scene.now += 60_000;
    expect(scene.step()).toMatchObject({ kind: "write", notices: [{ reason: "StageStalled" }] });
    expect(scene.step()).toEqual({ kind: "delete-pod", pod: { name: A, uid: A } });
    scene.settle().forgetPod(A).at(1, `${A}#2`).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 0, syncedEpoch: 1, heldStages: [], restarts: 0 });
  });
});

describe("a malformed epoch", () => {
  it("is reported on its Pod, once, and does not stop the group from seeing a failure", () => {
    const scene = runningScene().pod(A, { epoch: { kind: "malformed", text: "four" } });
    expect(scene.verdict().reports).toMatchObject([{ pod: { name: A }, reason: "EpochIgnored" }]);
    scene.settle();
    expect(scene.verdict().reports).toEqual([]);
    expect(scene.fails(B, "a").settle().epochs).toBe("1/1");
  });

  it("counts as none at the barrier", () => {
    const scene = new Scene()
      .settle()
      .job("workers-0")
      .at(1, A)
      .pod(B, { epoch: { kind: "malformed", text: "-1" } });
    expect(scene.settle().epochs).toBe("0/0");
    expect(scene.at(1, B).settle().epochs).toBe("0/1");
  });

  it("that a barrier waits for in vain costs its Pod, which is told", () => {
    const scene = runningScene().fails(A, "a").settle().at(2, A);
    scene.pod(A, { epoch: { kind: "malformed", text: "x" } });
    expect(scene.at(2, B).settle().epochs).toBe("1/1");
    scene.now += 60_000;
    expect(scene.verdict().reports).toMatchObject([
      { reason: "EpochIgnored", note: 'epoch "x" is not a number written by an agent; the Pod is replaced' },
    ]);
    expect(scene.step()).toMatchObject({ kind: "write", notices: [{ reason: "BarrierStalled" }] });
    expect(scene.step()).toEqual({ kind: "delete-pod", pod: { name: A, uid: A } });
    scene.settle().forgetPod(A).at(2, `${A}#2`).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: 1 });
  });
});

describe("a Pod that is lost", () => {
  it.each([
    ["Failed", { phase: "Failed" }, "PodFailed", true],
    ["being deleted", { deletion: DELETED }, "PodDeleted", true],
    ["evicted", { deletion: DELETED, conditions: [DISRUPTED] }, "Disruption", false],
    ["Failed by preemption", { phase: "Failed", conditions: [DISRUPTED] }, "Disruption", false],
  ] as const)("because it is %s restarts the others early", (_, change, reason, counted) => {
    const scene = runningScene().pod(A, change).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.status.history).toMatchObject([{ cause: { reason, pod: A }, counted }]);
    scene.forgetPod(A).at(2, B, "workers-0/0#2").settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: counted ? 1 : 0 });
  });

  it("without a trace restarts the others early", () => {
    const scene = runningScene().forgetPod(A).settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodDeleted", pod: A }, counted: true }]);
    expect(scene.epochs).toBe("1/1");
  });

  it("at the barrier is waited for, and no restart of its own", () => {
    const scene = new Scene().settle().job("workers-0").at(1, A, B).pod(A, { deletion: DELETED }).settle();
    expect(scene.forgetPod(A).settle().epochs).toBe("0/0");
    expect(scene.at(1, "workers-0/0#2").settle().status).toMatchObject({ syncedEpoch: 1, restarts: 0, history: [] });
  });

  it("at the barrier by a disruption does not excuse a failure in the epoch that follows", () => {
    const scene = new Scene().settle().job("workers-0").at(1, A, B);
    scene
      .pod(A, { deletion: DELETED, conditions: [DISRUPTED] })
      .settle()
      .forgetPod(A)
      .at(1, "workers-0/0#2")
      .settle();
    scene.runs("a", "workers-0/0#2", B).settle().fails(B, "a").settle();
    expect(scene.status.history).toMatchObject([{ cause: { pod: B }, counted: true }]);
  });

  it("by a disruption excuses the failure that it caused elsewhere first", () => {
    const scene = runningScene().fails(B, "a").settle();
    expect(scene.status.history).toMatchObject([{ counted: true }]);
    scene.pod(A, { deletion: DELETED, conditions: [DISRUPTED] }).settle();
    expect(scene.status.history).toMatchObject([{ cause: { pod: B }, counted: false }]);
    expect(scene.forgetPod(A).at(2, B, "workers-0/0#2").settle().status).toMatchObject({ syncedEpoch: 2, restarts: 0 });
  });

  it("because JobSet recreates its Job is counted by JobSet alone, in whatever order it is seen", () => {
    const scene = runningScene().pod(A, { deletion: DELETED }).pod(B, { deletion: DELETED }).settle();
    scene.job("workers-0", { deletionTimestamp: DELETED.timestamp }).settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodDeleted" }, counted: false }]);
    scene.forgetPod(A).forgetPod(B).forgetJob("workers-0").changeJobSet({ restarts: 1, restartsCountTowardsMax: 1 });
    scene.job("workers-0", { uid: "workers-0" }).at(2, "workers-0/0#2", "workers-0/1#2").settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 1, syncedEpoch: 2, restarts: 0 });
  });
});

describe("a Pod that succeeded, where the others may continue", () => {
  const annotations = { [ANNOTATION.onPartialSuccess]: "continue" };

  it("never blocks the barrier", () => {
    const scene = runningScene({ annotations }).pod(A, { phase: "Succeeded" }).settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.fails(B, "a").settle().at(2, B).settle().epochs).toBe("1/2");
  });

  it("stays done when it is deleted", () => {
    const scene = runningScene({ annotations }).pod(A, { phase: "Succeeded" }).forgetPod(A).settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.fails(B, "a").settle().at(2, B).settle().epochs).toBe("1/2");
  });

  it("is known from its Job after the Pod and the controller are gone", () => {
    const scene = runningScene({ annotations }).pod(A, { phase: "Succeeded" }).settle().forgetPod(A);
    scene
      .job("workers-0", { completedIndexes: [{ first: 0, last: 0 }] })
      .restartController()
      .settle();
    expect(scene.fails(B, "b").settle().at(2, B).settle().epochs).toBe("1/2");
  });

  it("is done with a Job that is complete", () => {
    const scene = new Scene({ workers: { pods: 1, replicas: 2 } }, { annotations })
      .settle()
      .job("workers-0")
      .job("workers-1");
    scene.at(1, "workers-0/0", "workers-1/0").settle().runs("a", "workers-0/0", "workers-1/0").settle();
    scene.job("workers-0", { outcome: "Complete" }).forgetPod("workers-0/0");
    scene.fails("workers-1/0", "a").settle().at(2, "workers-1/0").settle();
    expect(scene.epochs).toBe("1/2");
  });
});

describe("the controller, killed and started anew", () => {
  it("misses a failure it might have seen early, and is put right by the next epoch", () => {
    const scene = runningScene().fails(A, "a").restartController().settle();
    expect(scene.epochs).toBe("0/1");
    expect(comeBack(scene.at(2, A).settle(), 2, "b").status).toMatchObject({ syncedEpoch: 2, restarts: 1 });
  });

  it.each([
    ["before the failure is written", 0],
    ["after the failure is written", 1],
  ])("%s counts the restart once", (_, steps) => {
    const scene = runningScene().fails(A, "a");
    for (let step = 0; step < steps; step += 1) scene.step();
    scene.restartController().settle().at(2, A).restartController().settle().at(2, B).restartController().settle();
    expect(scene.restartController().settle().status).toMatchObject({ syncedEpoch: 2, restarts: 1 });
  });

  it("finishes the restart that another one began", () => {
    const scene = runningScene().fails(A, "a").settle().at(2, A, B).settle().restartController();
    expect(scene.runs("b", A, B).settle().status).toMatchObject({ phase: "Running", restarts: 1 });
    expect(scene.status.history.at(-1)?.allRunning).toBeDefined();
  });
});

describe("the object", () => {
  it("that was lost while the group ran makes one clean restart that is not counted", () => {
    const scene = runningScene().loseObject().settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 1, syncedEpoch: 1, phase: "Restarting" });
    expect(comeBack(scene, 2, "b").status).toMatchObject({ deprecatedEpoch: 1, syncedEpoch: 2, restarts: 0 });
    expect(scene.status.history).toMatchObject([{ cause: { reason: "StateLost" }, fromEpoch: 1, toEpoch: 2 }]);
  });

  it("that was made anew from an old view follows the Pods", () => {
    const scene = new Scene().settle().job("workers-0").at(5, A, B).settle();
    expect(scene.epochs).toBe("5/5");
    expect(comeBack(scene, 6, "b").status).toMatchObject({ syncedEpoch: 6, restarts: 0 });
  });

  it("of an earlier JobSet with the same name is replaced", () => {
    const scene = runningScene();
    scene.changeJobSet({ uid: "js2" });
    expect(scene.step()).toMatchObject({ kind: "delete", object: { uid: "ipr" } });
    expect(scene.step()).toEqual({ kind: "create", jobSetUid: "js2" });
    expect(scene.settle().status).toMatchObject({ deprecatedEpoch: 0, syncedEpoch: 0, history: [] });
  });

  it("is not made for a JobSet that is finished, being deleted, or kept by upstream's own protocol", () => {
    expect(new Scene({}, { outcome: "Completed" }).step()).toBeUndefined();
    expect(new Scene({}, { deletionTimestamp: DELETED.timestamp }).step()).toBeUndefined();
    const failurePolicy = { maxRestarts: 3, restartStrategy: "InPlaceRestart" };
    expect(new Scene({}, { failurePolicy }).step()).toBeUndefined();
  });
});

describe("suspension", () => {
  it("is no restart, however often", () => {
    const scene = runningScene();
    for (let epoch = 2; epoch <= 6; epoch += 1) {
      scene.changeJobSet({ suspended: true }).job("workers-0", { suspended: true });
      scene.pod(A, { deletion: DELETED }).pod(B, { deletion: DELETED }).settle().forgetPod(A).forgetPod(B).settle();
      expect(scene.status).toMatchObject({ phase: "Starting", restarts: 0 });
      scene.changeJobSet({ suspended: false }).job("workers-0", { suspended: false }).settle();
      comeBack(scene, epoch, `r${epoch}`);
      expect(scene.status).toMatchObject({ syncedEpoch: epoch, phase: "Running", restarts: 0, history: [] });
    }
  });

  it("is no restart when the deleted Pods are seen before it", () => {
    const scene = runningScene().pod(A, { deletion: DELETED }).settle();
    expect(scene.status.history).toHaveLength(1);
    scene
      .changeJobSet({ suspended: true })
      .settle()
      .forgetPod(A)
      .forgetPod(B)
      .changeJobSet({ suspended: false })
      .settle();
    expect(comeBack(scene, 2, "b").status).toMatchObject({ syncedEpoch: 2, restarts: 0, history: [] });
  });

  it("is no restart when it is over before the controller looks", () => {
    const scene = runningScene().changeJobSet({ suspended: true }).pod(A, { deletion: DELETED });
    scene.changeJobSet({ suspended: false }).settle();
    expect(scene.epochs).toBe("1/1");
    expect(comeBack(scene.forgetPod(A), 2, "b").status).toMatchObject({ syncedEpoch: 2, restarts: 0, history: [] });
  });

  it("is no restart when the controller was down meanwhile", () => {
    const scene = runningScene();
    const lastTransitionTime = new Date(scene.now + 5_000).toISOString();
    const resumed = {
      type: "Suspended",
      status: "False",
      reason: "ResumeJobs",
      message: "",
      lastTransitionTime,
    } as const;
    scene
      .changeJobSet({ conditions: [resumed] })
      .pod(A, { deletion: DELETED })
      .restartController()
      .settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodDeleted" }, counted: false }]);
  });

  it("lifts no barrier", () => {
    const scene = new Scene({ workers: { pods: 1 } }, { suspended: true }).settle().job("workers-0").at(1, A).settle();
    expect(scene.epochs).toBe("0/0");
    expect(scene.changeJobSet({ suspended: false }).settle().epochs).toBe("0/1");
  });
});

describe("the budget", () => {
  const policy = (maxRestarts: number) => ({ failurePolicy: { maxRestarts, restartStrategy: "Recreate" } });

  it("once spent fails the JobSet at the next failure, and restarts nobody", () => {
    const scene = comeBack(runningScene(policy(1)).fails(A, "a").settle(), 2, "b").fails(B, "b");
    expect(scene.step()).toMatchObject({ kind: "fail", reason: "ReachedMaxRestarts" });
    expect(scene.settle().status).toMatchObject({ deprecatedEpoch: 1, syncedEpoch: 2, restarts: 1, phase: "Failed" });
    expect(scene.notices.at(-1)).toMatchObject({ type: "Warning", reason: "ReachedMaxRestarts" });
  });

  it("is tried again when the JobSet could not be failed", () => {
    const scene = runningScene(policy(0)).fails(A, "a");
    scene.step();
    scene.changeJobSet({ outcome: "none" });
    expect(scene.step()).toMatchObject({ kind: "fail", message: "the group has restarted 0 times, and 0 are allowed" });
  });

  it("includes the recreations that JobSet counted", () => {
    const scene = runningScene({ ...policy(1), restartsCountTowardsMax: 1 }).fails(A, "a");
    expect(scene.step()).toMatchObject({ kind: "fail" });
  });

  it("of the annotation wins over that of the failure policy", () => {
    const scene = runningScene({ ...policy(0), annotations: { [ANNOTATION.maxRestarts]: "1" } })
      .fails(A, "a")
      .settle();
    expect(comeBack(scene, 2, "b").status.restarts).toBe(1);
    expect(scene.fails(A, "b").step()).toMatchObject({ kind: "fail" });
  });

  it("may be raised while the group runs", () => {
    const scene = runningScene(policy(0)).changeJobSet({ annotations: { [ANNOTATION.maxRestarts]: "1" } });
    expect(scene.fails(A, "a").step()).toMatchObject({ kind: "write", status: { phase: "Restarting" } });
  });

  it("is not touched by disruptions, even when it is spent", () => {
    const scene = runningScene(policy(0))
      .pod(A, { deletion: DELETED, conditions: [DISRUPTED] })
      .settle();
    expect(scene.forgetPod(A).at(2, B, "workers-0/0#2").settle().status).toMatchObject({ syncedEpoch: 2, restarts: 0 });
  });

  it("fails a deletion only when it is certain not to be a suspension", () => {
    const scene = runningScene(policy(0)).pod(A, { deletion: DELETED }).settle();
    expect(scene.epochs).toBe("1/1");
    scene.forgetPod(A).at(2, B, "workers-0/0#2");
    expect(scene.step()).toMatchObject({ kind: "fail" });
  });
});

describe("the end of a JobSet", () => {
  it.each(["Completed", "Failed"] as const)("that has %s is shown, and its Pods restart no more", (outcome) => {
    const scene = runningScene().changeJobSet({ outcome }).fails(A, "a").settle();
    expect(scene.status).toMatchObject({ phase: outcome, deprecatedEpoch: 0, syncedEpoch: 1, history: [] });
    expect(scene.verdict()).toEqual({ reports: [] });
  });

  it("takes back a deletion that it caused itself", () => {
    const scene = runningScene().pod(A, { deletion: DELETED }).settle().changeJobSet({ outcome: "Failed" }).settle();
    expect(scene.status).toMatchObject({ phase: "Failed", history: [] });
  });
});

describe("a barrier that stalls", () => {
  it("asks to be woken, and says after 60 s who is missing and why", () => {
    const scene = new Scene({ workers: { pods: 3 } }).settle().job("workers-0").at(1, A).settle();
    const message = "0/4 nodes are available";
    scene
      .pod(B, { conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }] })
      .settle();
    expect(scene.verdict()).toEqual({ reports: [], wakeAt: scene.now + 60_000 });
    scene.now += 60_000;
    scene.settle();
    expect(scene.notices).toEqual([
      {
        type: "Warning",
        reason: "BarrierStalled",
        action: "Wait",
        note: `waiting for epoch 1, 2 missing: ${B} (Unschedulable: ${message}), job train-workers-0 index 2 (no Pod yet)`,
      },
    ]);
    expect(scene.verdict()).toEqual({ reports: [] });
  });

  it("names five Pods with the beginning of their reasons, however long these are, in a message that is not refused", () => {
    const slots = [0, 1, 2, 3, 4, 5].map((index) => `workers-0/${index}`);
    const scene = new Scene({ workers: { pods: 6 } }).settle().job("workers-0");
    const message = "0/4 nodes are available: 1 node(s) had untolerated taint; ".repeat(6).slice(0, 300);
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }] as const;
    for (const slot of slots) scene.pod(slot, { conditions });
    scene.settle();
    scene.now += 60_000;
    const stalled = scene.settle().status.conditions.find(({ type }) => type === "Stalled");
    const reason =
      "Unschedulable: 0/4 nodes are available: 1 node(s) had untolerated taint; 0/4 nodes are available: 1 node(s) had...";
    const named = slots.slice(0, 5).map((slot) => `${slot} (${reason})`);
    expect(stalled).toMatchObject({ status: "True", message: `6 missing: ${named.join(", ")} and 1 more` });
    expect(stalled?.message.length).toBeLessThanOrEqual(1_024);
  });

  it("names an image that cannot be pulled", () => {
    const scene = new Scene({ workers: { pods: 1 } }).settle().job("workers-0");
    const agent = { name: "reprise-agent", init: true, restartCount: 0, started: false, ready: false };
    scene.pod(A, { containers: [{ ...agent, state: { kind: "waiting", reason: "ImagePullBackOff" } }] }).settle();
    scene.now += 60_000;
    expect(scene.settle().notices.at(-1)?.note).toContain("container reprise-agent: ImagePullBackOff");
  });

  it("is over when it is lifted", () => {
    const scene = new Scene({ workers: { pods: 1 } }).settle().job("workers-0").pod(A).settle();
    scene.now += 60_000;
    scene.settle().at(1, A).settle();
    expect(scene.status.conditions).toContainEqual(expect.objectContaining({ type: "Stalled", status: "False" }));
  });

  it.each([
    ["is in an epoch that has ended", {}, "still at epoch 1"],
    ["has not ended", { deletion: DELETED }, "terminating on no node"],
  ])("names a Pod of a later stage that %s", (_, change, why) => {
    const [driver, later] = ["driver-0/0", "workers-1/0"];
    const stages = { driver: { pods: 1 }, workers: { replicas: 2, pods: 1 } };
    const scene = new Scene(stages, { startupOrder: "InOrder" }).settle().job("driver-0").at(1, driver).settle();
    scene.runs("a", driver).settle().job("workers-0").job("workers-1").at(1, A, later).settle();
    scene.runs("a", A, later).settle().fails(A, "a").settle();
    // JobSet makes it anew only when the driver is ready.
    scene.forgetJob("workers-0").forgetPod(A).pod(later, change).at(2, driver).settle();
    scene.now += 60_000;
    expect(scene.settle().notices.at(-1)?.note).toBe(`waiting for epoch 2, 1 missing: ${later} (${why})`);
  });

  it("is none where no Pod is asked for", () => {
    const scene = new Scene({ workers: { replicas: 0, pods: 2 } }).settle();
    scene.now += 60_000;
    expect([scene.settle().notices, scene.verdict()]).toEqual([[], { reports: [] }]);
  });

  it("is described without a look at every Pod for every slot", () => {
    const cost = (pods: number) => {
      const slots = Array.from({ length: pods }, (_unused, index) => `workers-0/${index}`);
      const scene = new Scene({ workers: { pods: pods + 1 } })
        .settle()
        .job("workers-0")
        .at(1, ...slots)
        .settle();
      scene.now += 60_000;
      const began = performance.now();
      expect(scene.step()).toMatchObject({ kind: "write", notices: [{ reason: "BarrierStalled" }] });
      return performance.now() - began;
    };
    cost(1_000);
    // 10 times the Pods; a look at all for each would take 100 times as long.
    expect(cost(10_000)).toBeLessThan(40 * cost(1_000) + 20);
  });

  it("does not run while the JobSet is suspended", () => {
    const scene = new Scene({ workers: { pods: 1 } }, { suspended: true }).settle();
    expect(scene.verdict()).toEqual({ reports: [] });
    scene.now += 3_600_000;
    scene.changeJobSet({ suspended: false }).settle();
    expect(scene.verdict().wakeAt).toBe(scene.now + 60_000);
  });
});

describe("the ready count", () => {
  it("alone is written at most every 10 s, so that it does not wake every agent", () => {
    const scene = new Scene({ workers: { pods: 4 } }).settle().job("workers-0");
    const slots = [0, 1, 2, 3].map((index) => `workers-0/${index}`);
    scene.at(1, ...slots).settle();
    scene.now += 1_000;
    scene.runs("a", slots[0] ?? "");
    expect(scene.verdict()).toEqual({ reports: [], wakeAt: scene.now + 9_000 });
    scene.now += 9_000;
    expect(scene.settle().status.ready).toBe("1/4");
  });

  it("is written at once when the group becomes complete", () => {
    const scene = runningScene().pod(A, { conditions: [] }).settle();
    expect(scene.status.ready).toBe("1/2");
    expect(scene.runs("a", A).settle().status.ready).toBe("2/2");
  });
});
