import { describe, expect, it } from "vitest";
import { A, B, comeBack, fail, withMaxRestarts } from "./testing/restarts.ts";
import { DELETED, READY, runningScene, Scene } from "./testing/scene.ts";

describe("the InPlaceRestart object", () => {
  it("is created for a JobSet that has none", () => {
    expect(new Scene().step()).toEqual({ kind: "create", jobSetUid: "js" });
  });

  it("of an earlier JobSet with the same name is deleted and created again", () => {
    const scene = runningScene();
    scene.changeJobSet({ uid: "js2" });
    expect(scene.step()).toMatchObject({ kind: "delete", object: { uid: "ipr" } });
    expect(scene.step()).toEqual({ kind: "create", jobSetUid: "js2" });
    expect(scene.settle().status).toMatchObject({ deprecatedEpoch: 0, syncedEpoch: 0, history: [] });
  });

  it("is not created for a JobSet that is finished, being deleted, or uses upstream's own protocol", () => {
    expect(new Scene({}, { outcome: "Completed" }).step()).toBeUndefined();
    expect(new Scene({}, { deletionTimestamp: DELETED.timestamp }).step()).toBeUndefined();
    const failurePolicy = { maxRestarts: 3, restartStrategy: "InPlaceRestart" };
    expect(new Scene({}, { failurePolicy }).step()).toBeUndefined();
  });
});

describe("a decision", () => {
  it("is made once: when it is carried out, there is nothing left to decide", () => {
    expect(runningScene().step()).toBeUndefined();
  });

  it("restarts the group once per failure, over five epochs", () => {
    const scene = runningScene(withMaxRestarts(5));
    for (const slot of [B, A, B, A, B]) comeBack(fail(scene, slot).settle());
    expect(scene.status).toMatchObject({ syncedEpoch: 6, deprecatedEpoch: 5, restarts: 5, phase: "Running" });
  });
});

describe("a controller that was restarted", () => {
  it("misses a failure that it could have seen early, and learns of it by the next epoch", () => {
    const scene = runningScene().fails(A, "a").restartController().settle();
    expect(scene.epochs).toBe("0/1");
    expect(comeBack(scene.at(2, A).settle()).status).toMatchObject({ syncedEpoch: 2, restarts: 1 });
  });

  it.each([
    ["before", 0],
    ["after", 1],
  ])("%s the failure was written counts the restart once", (_, steps) => {
    const scene = runningScene().fails(A, "a");
    for (let step = 0; step < steps; step += 1) scene.step();
    scene.restartController().settle().at(2, A).restartController().settle().at(2, B).restartController().settle();
    expect(scene.restartController().settle().status).toMatchObject({ syncedEpoch: 2, restarts: 1 });
  });
});

describe("what only people see", () => {
  it("is written at most every 10 s, whatever changes in it", () => {
    const scene = runningScene();
    const writes: number[] = [];
    const start = scene.now;
    // A Pod becomes ready and unready all the time. Every other time the group looks as it was written.
    for (; scene.now < start + 60_000; scene.now += 500) {
      const isReady = scene.now % 1_000 === 0;
      scene.pod(A, { conditions: isReady ? [READY] : [] });
      if (scene.step() !== undefined) writes.push(scene.now);
    }
    expect(writes.map((time) => (time - start) / 1_000)).toEqual([0.5, 11, 21.5, 32, 42.5, 53]);
    expect(scene.epochs).toBe("0/1");
  });

  it("does not delay a decision, which shows it too", () => {
    const scene = runningScene().pod(A, { conditions: [] }).settle();
    expect(scene.status.ready).toBe("1/2");
    scene.pod(B, { conditions: [] }).settle();
    expect(scene.status.ready).toBe("1/2");
    expect(fail(scene, A).settle().status).toMatchObject({ deprecatedEpoch: 1, ready: "0/2", phase: "Restarting" });
  });

  it("waits for the next decision if that is only the ready count", () => {
    const scene = new Scene({ workers: { pods: 4 } }).settle().job("workers-0");
    const slots = [0, 1, 2, 3].map((index) => `workers-0/${index}`);
    scene.at(1, ...slots).settle();
    scene.now += 1_000;
    scene.runs("a", slots[0] ?? "");
    expect(scene.verdict()).toEqual({ reports: [], wakeAt: scene.now + 9_000 });
    scene.now += 9_000;
    expect(scene.settle().status.ready).toBe("1/4");
  });

  it("is written at once when the group becomes complete, or stops being complete", () => {
    const scene = runningScene().pod(A, { conditions: [] }).settle();
    expect(scene.status.ready).toBe("1/2");
    expect(scene.runs("a", A).later().settle().status.ready).toBe("2/2");
  });
});
