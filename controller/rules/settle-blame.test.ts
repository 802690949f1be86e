import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import type { ContainerState } from "../../src/api/pod.ts";
import { A, arrive, B, comeBack, fail, withMaxRestarts } from "../testing/restarts.ts";
import {
  DELETED,
  DISRUPTED,
  DRIVER,
  driverScene,
  FIRST,
  failureRule,
  runningScene,
  Scene,
  SECOND,
} from "../testing/scene.ts";

const C = "workers-0/2";
const D = "workers-0/3";

/** Four workers on two nodes, running in epoch 1. */
function fourWorkers(annotations: Readonly<Record<string, string>> = {}): Scene {
  const scene = new Scene({ workers: { pods: 4 } }, { annotations }).settle().job("workers-0");
  for (const [slot, node] of [
    [A, "n1"],
    [B, "n1"],
    [C, "n2"],
    [D, "n2"],
  ] as const)
    scene.pod(slot, { node });
  return scene.at(1, A, B, C, D).settle().runs("a", A, B, C, D).settle();
}

/** The worker ended this many seconds after the beginning of the scene, by the clock of its node. */
function ends(scene: Scene, slot: string, second: number, exit: Partial<ContainerState & { kind: "terminated" }> = {}) {
  const finishedAt = new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString();
  const state = { exitCode: 1, reason: "Error", finishedAt, ...exit, kind: "terminated" } as const;
  return scene.worker(slot, `${slot}:a`, state);
}

function causeOf(scene: Scene) {
  return arrive(scene.settle(), A, B, C, D).settle().status.history.at(-1)?.cause;
}

describe("settle-blame", () => {
  it("blames the Pod that failed first, not the one whose report came first, and counts one restart", () => {
    const scene = ends(fourWorkers(), C, 3).settle();
    expect(scene.status.history).toMatchObject([{ cause: { pod: C }, rule: "end-epoch" }]);
    ends(ends(scene, D, 3), A, 1, { exitCode: 3 });
    expect(causeOf(scene)).toMatchObject({ pod: A, exitCode: 3 });
    expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: 1 });
    expect(scene.status.history).toMatchObject([
      { rule: "settle-blame", counted: true, streak: { restarts: 1, slot: "train-workers-0/0", failures: 1 } },
    ]);
  });

  it("remembers how a worker ended after its Pod has restarted in place", () => {
    const scene = ends(ends(fourWorkers(), C, 3).settle(), A, 1).settle();
    scene.worker(A, "", { kind: "waiting", reason: "RestartingAllContainers" }).settle();
    expect(causeOf(scene)).toMatchObject({ pod: A });
  });

  it("blames no Pod and names the candidates if all failed at about the same time", () => {
    const scene = ends(ends(ends(fourWorkers(), C, 3).settle(), D, 3), A, 2);
    expect(causeOf(scene)).toEqual({
      reason: "ContainerExited",
      container: "main",
      exitCode: 1,
      candidates: [A, C, D],
    });
    expect(scene.status.history.at(-1)?.streak).toEqual({ restarts: 1, unexplained: 1 });
    expect(scene.runs("b", A, B, C, D).settle().notices.at(-1)?.note).toContain(
      `(Pods ${A}, ${C}, ${D} failed at about the same time with code 1, and it is not known which was the first)`,
    );
  });

  it("keeps the last words of the container that is to blame, for the Event and the history", () => {
    const scene = ends(fourWorkers(), C, 3, { message: "connection closed by peer" }).settle();
    expect(scene.notices.at(-1)?.note).toBe(
      `Pod ${C}: container main exited with code 1; restart 1 of 3 (from failurePolicy.maxRestarts); ` +
        'its last words: "connection closed by peer"',
    );
    ends(scene, A, 1, { message: "RuntimeError: no device" });
    expect(causeOf(scene)).toMatchObject({ pod: A, message: "RuntimeError: no device" });
    expect(scene.runs("b", A, B, C, D).settle().notices.at(-1)?.note).toMatch(
      /; its last words: "RuntimeError: no device"$/,
    );
  });

  it("writes nothing if only the Pod failed that ended the epoch", () => {
    const scene = arrive(ends(fourWorkers(), C, 3).settle(), A, B, C, D);
    expect(scene.verdict().rule).toBe("lift-barrier");
    expect(scene.settle().status.history).toMatchObject([{ cause: { pod: C }, rule: "end-epoch" }]);
  });

  it.each([
    ["a second after the restart was ordered", 2, { kind: "running" }],
    ["after its agent", 1, { kind: "terminated", exitCode: 9, reason: "Error", finishedAt: "2026-01-01T00:00:00Z" }],
  ] as const)("does not suspect a worker that ended %s", (_, second, agentState) => {
    const scene = ends(fourWorkers(), C, 0);
    scene.now += 500;
    scene.settle();
    scene.now += 2_000;
    const finishedAt = new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString();
    const ended = { kind: "terminated", exitCode: 137, reason: "Error", finishedAt } as const;
    const containers = scene.group.members.get(A)?.pod.containers ?? [];
    scene.pod(A, { containers: containers.map((each) => ({ ...each, state: each.init ? agentState : ended })) });
    expect(causeOf(scene)).toMatchObject({ pod: C });
  });

  it("does not move a Pod before every Pod is back, and then the one that failed first", () => {
    const scene = ends(fourWorkers({ [ANNOTATION.escalateAfter]: "1" }), C, 3).settle();
    expect(scene.status.history).toMatchObject([{ action: "RestartInPlace" }]);
    arrive(ends(scene, A, 1).settle(), A, B, C, D);
    expect(scene.step()).toMatchObject({ notices: [{ reason: "RecreatingPod" }] });
    expect(scene.step()).toEqual({ kind: "delete-pod", pod: { name: A, uid: A } });
  });

  it("replaces a Pod at once if its exit code requests it, also if a peer failed first", () => {
    const scene = ends(fourWorkers({ [ANNOTATION.recreateExitCodes]: "80" }), C, 1).settle();
    expect(ends(scene, A, 30, { exitCode: 80 }).step()).toMatchObject({
      status: { history: [{ cause: { pod: A, exitCode: 80 }, action: "RecreatePod", target: A }] },
    });
    expect(scene.step()).toEqual({ kind: "delete-pod", pod: { name: A, uid: A } });
  });

  it("replaces every Pod whose exit code requests it, and names them as candidates", () => {
    const scene = ends(fourWorkers({ [ANNOTATION.recreateExitCodes]: "80" }), C, 1).settle();
    ends(ends(scene, A, 1, { exitCode: 80 }), B, 1, { exitCode: 80 });
    expect([scene.step(), scene.step()]).toMatchObject([{ pod: { uid: A } }, { pod: { uid: B } }]);
    arrive(scene.settle().forgetPod(A).forgetPod(B), `${A}#2`, `${B}#2`, C, D).settle();
    expect(scene.status).toMatchObject({
      syncedEpoch: 2,
      restarts: 1,
      history: [{ cause: { candidates: [A, B] } }],
    });
  });

  it("blames no Pod if the controller was replaced before all evidence was in", () => {
    const scene = ends(fourWorkers(), C, 3).settle();
    arrive(scene.restartController().settle(), A, B, C, D).settle();
    expect(scene.status.history).toMatchObject([{ cause: { candidates: [C] }, counted: true }]);
    expect(scene.status.history.at(-1)?.streak).toEqual({ restarts: 1, unexplained: 1 });
  });

  it("blames no Pod if a worker had ended before the controller first saw its Pod", () => {
    const scene = fourWorkers();
    ends(scene, C, 3);
    scene.restartController().settle();
    expect(scene.epochs).toBe("0/1");
    ends(scene, A, 3, { exitCode: 3 }).settle().at(2, A);
    expect(causeOf(scene)).toMatchObject({ candidates: [A] });
  });

  it("suspects a Pod that had restarted before the group was told to, although no report showed its exit", () => {
    const successPolicy = { operator: "All", targetReplicatedJobs: ["driver"] } as const;
    const scene = ends(driverScene({ successPolicy }), FIRST, 1).settle();
    expect(scene.epochs).toBe("0/1");
    scene.now += 400;
    scene.at(2, DRIVER).settle();
    expect(scene.status.history).toMatchObject([{ cause: { pod: FIRST } }]);
    scene.now += 1_000;
    arrive(scene, FIRST, SECOND).settle();
    expect(scene.status.history).toMatchObject([{ cause: { candidates: [FIRST, DRIVER] }, counted: true }]);
    expect(scene.status.history.at(-1)?.streak).toEqual({ restarts: 1, unexplained: 1 });
  });

  it("names a Pod that was told to restart as a candidate if no report has shown that its worker still ran", () => {
    const scene = ends(fourWorkers(), C, 3).settle();
    scene.now += 500;
    const { cause } =
      arrive(scene.restarts(A, B, D), A, B, C, D)
        .settle()
        .status.history.at(-1) ?? {};
    expect(cause).toMatchObject({ exitCode: 1, candidates: [C, A, B, D] });
    expect(scene.status.history.at(-1)?.streak).toEqual({ restarts: 1, unexplained: 1 });
  });

  it("blames the only Pod that failed if another one ran until it was told to restart", () => {
    const scene = ends(fourWorkers(), C, 3).settle();
    scene.now += 500;
    scene.exitsAgent(D).restarts(A, B, D);
    expect(arrive(scene, A, B, C, D).settle().status.history.at(-1)?.cause).toMatchObject({ pod: C });
  });

  it("does not take an agent that was killed for one that was told", () => {
    const scene = ends(fourWorkers(), C, 3).settle();
    scene.now += 500;
    scene.exitsAgent(D, 137).restarts(A, B, D);
    expect(arrive(scene, A, B, C, D).settle().status.history.at(-1)?.cause.pod).toBeUndefined();
  });

  it("blames a worker with a code of its own, whatever became of the others", () => {
    const scene = ends(fourWorkers(), C, 3, { exitCode: 139 }).settle();
    scene.now += 500;
    const { cause } =
      arrive(scene.restarts(A, B, D), A, B, C, D)
        .settle()
        .status.history.at(-1) ?? {};
    expect(cause).toMatchObject({ pod: C, exitCode: 139 });
  });

  it("blames no Pod if the agent of another one had been killed at about the same time", () => {
    const scene = fourWorkers();
    const ended = { kind: "terminated", reason: "Error", finishedAt: "2026-01-01T00:00:03Z" } as const;
    const containers = scene.group.members.get(A)?.pod.containers ?? [];
    const exitCode = (init: boolean) => (init ? 137 : 1);
    scene
      .pod(A, {
        containers: containers.map((each) => ({ ...each, state: { ...ended, exitCode: exitCode(each.init) } })),
      })
      .settle();
    ends(scene, C, 3, { exitCode: 139 });
    expect(causeOf(scene)).toMatchObject({ candidates: [A, C] });
  });

  it("blames the deletion of a Pod, and no worker, if others fail because of it", () => {
    const scene = ends(fourWorkers(), C, 3).settle().pod(A, { deletion: DELETED }).settle().forgetPod(A);
    arrive(scene, `${A}#2`, B, C, D).settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodDeleted", pod: A }, counted: true }]);
    expect(scene.status.history.at(-1)?.streak).toBeUndefined();
  });

  it("leaves a restart alone that a disruption caused", () => {
    const scene = ends(ends(fourWorkers(), C, 3).settle(), A, 1).settle();
    scene
      .pod(B, { deletion: DELETED, conditions: [DISRUPTED] })
      .settle()
      .forgetPod(B);
    arrive(scene, A, `${B}#2`, C, D).settle();
    expect(scene.status).toMatchObject({ restarts: 0, history: [{ counted: false, rule: "end-epoch" }] });
  });

  it("keeps its judgement while the back-off holds the barrier, even if the controller is replaced", () => {
    const annotations = { [ANNOTATION.escalateAfter]: "0" };
    const scene = runningScene({ ...withMaxRestarts(20), annotations });
    for (const _ of [1, 2, 3]) comeBack(fail(scene, A).settle());
    arrive(fail(scene, A).settle()).settle();
    expect(scene.status.history.at(-1)?.allRestarted).toBeDefined();
    expect(scene.restartController().settle().status.history.at(-1)).toMatchObject({ cause: { pod: A } });
  });

  it("moves no Pod when the budget is spent", () => {
    const annotations = { [ANNOTATION.escalateAfter]: "1" };
    const scene = runningScene({ ...withMaxRestarts(0), annotations });
    scene.at(2, A).settle().at(2, B).settle();
    expect(scene.status.history).toMatchObject([{ action: "FailJobSet" }]);
    expect(scene.group.members.get(A)?.pod.deletion).toBeUndefined();
  });
});

describe("settle-blame, where a rule of the user does not count the failures of workers,", () => {
  const EXEMPT = failureRule({ action: "RestartJobSetAndIgnoreMaxRestarts", targetReplicatedJobs: ["workers"] });
  const rules = { failurePolicy: { maxRestarts: 0, restartStrategy: "Recreate", rules: [EXEMPT] } };

  it("moves a worker that keeps failing, as if it were counted", () => {
    const scene = runningScene(rules);
    for (const _ of [1, 2]) comeBack(fail(scene, A).settle());
    arrive(fail(scene, A).settle());
    expect([scene.step(), scene.step()]).toMatchObject([
      { status: { history: [{}, {}, { action: "RecreatePod", target: A, counted: false }] } },
      { kind: "delete-pod", pod: { uid: A } },
    ]);
  });

  it("blames the one that failed first, and counts nothing", () => {
    const scene = ends(ends(runningScene(rules), B, 9).settle(), A, 1).settle();
    arrive(scene).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: 0 });
    expect(scene.status.history).toMatchObject([
      { cause: { pod: A }, counted: false, streak: { slot: "train-workers-0/0", failures: 1 } },
    ]);
  });

  it("counts nothing if it is not known which of them failed first", () => {
    const scene = ends(ends(runningScene(rules), B, 1).settle(), A, 1).settle();
    arrive(scene).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: 0 });
    expect(scene.status.history).toMatchObject([
      { cause: { candidates: [B, A] }, counted: false, streak: { restarts: 1, unexplained: 1 } },
    ]);
  });

  it("counts the failure of another that came first, whichever was reported first", () => {
    const scene = ends(driverScene(rules), FIRST, 9).settle();
    expect(scene.status.history).toMatchObject([{ counted: false }]);
    ends(scene, DRIVER, 1).settle();
    arrive(scene, DRIVER, FIRST, SECOND).settle();
    expect(scene.status).toMatchObject({ phase: "Failed", history: [{ cause: { pod: DRIVER } }] });
  });

  it.each([
    ["a worker", FIRST, DRIVER, 0],
    ["another Pod", DRIVER, FIRST, 1],
  ])(
    "goes by the first report, if it is that of %s and the first failure is not known",
    (_, first, second, restarts) => {
      const failurePolicy = { ...rules.failurePolicy, maxRestarts: 3 };
      const scene = ends(ends(driverScene({ failurePolicy }), first, 1).settle(), second, 1).settle();
      expect(arrive(scene, DRIVER, FIRST, SECOND).settle().status).toMatchObject({ syncedEpoch: 2, restarts });
    },
  );

  it("takes a failure that a disruption caused out of the streak, and delays nothing", () => {
    const scene = runningScene({ ...rules, annotations: { [ANNOTATION.escalateAfter]: "0" } });
    for (const _ of [1, 2, 3]) comeBack(fail(scene, A).settle());
    fail(scene, A).settle();
    expect(scene.status.history.at(-1)).toMatchObject({ streak: { restarts: 4 }, backoffUntil: expect.anything() });
    scene.pod(B, { deletion: DELETED, conditions: [DISRUPTED] }).settle();
    expect(scene.status.history.at(-1)).toMatchObject({ counted: false, streak: { restarts: 3 } });
    expect(scene.status.history.at(-1)).not.toHaveProperty("backoffUntil");
  });
});

it("settle-blame takes a failure out of the streak whose exit code podFailurePolicy ignores", () => {
  const ignored = { action: "Ignore", onExitCodes: { operator: "In", values: [42] } };
  const scene = ends(driverScene({}, { podFailureRules: [ignored] }), DRIVER, 9).settle();
  expect(scene.status.history).toMatchObject([{ streak: { failures: 1 }, counted: true }]);
  arrive(ends(scene, FIRST, 1, { exitCode: 42 }).settle(), DRIVER, FIRST, SECOND).settle();
  expect(scene.status).toMatchObject({ restarts: 0, history: [{ cause: { pod: FIRST }, counted: false }] });
  expect(scene.status.history[0]).not.toHaveProperty("streak");
});
