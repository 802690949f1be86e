import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { observePod } from "../group/observe.ts";
import { A, B } from "../testing/restarts.ts";
import { DELETED, runningScene, Scene } from "../testing/scene.ts";

describe("lift-barrier", () => {
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

  it("waits until the address of every Pod is known, because workers ask for each other's names", () => {
    const scene = new Scene().settle().job("workers-0").at(1, A).pod(B, { awaitsAddress: true }).at(1, B).settle();
    expect(scene.epochs).toBe("0/0");
    scene.pod(B, { awaitsAddress: false }).settle();
    expect(scene.epochs).toBe("0/1");
  });

  it("does not take a terminating Pod for one that has arrived", () => {
    const scene = new Scene().settle().job("workers-0").at(1, A, B).pod(B, { deletion: DELETED }).settle();
    expect(scene.epochs).toBe("0/0");
  });

  it("takes a malformed epoch for none", () => {
    const scene = new Scene()
      .settle()
      .job("workers-0")
      .at(1, A)
      .pod(B, { epoch: { kind: "malformed", text: "-1" } });
    expect(scene.settle().epochs).toBe("0/0");
    expect(scene.at(1, B).settle().epochs).toBe("0/1");
  });

  it("does not start an epoch beside a Pod that may still run in an earlier one", () => {
    const scene = runningScene().pod(B, { deletion: DELETED }).settle().at(2, A, `${B}#2`).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.forgetPod(B).settle().epochs).toBe("1/2");
  });
});

describe("lift-barrier, after a Job was deleted and JobSet has created it again,", () => {
  /** The Pods of the new Job are at the barrier; those of the deleted one still exist. */
  function jobCreatedAgain(): Scene {
    const scene = runningScene().forgetJob("workers-0").settle();
    // The garbage collector would have deleted its Pods by now.
    scene.now += 30_000;
    return scene.job("workers-1", { name: "train-workers-0" }).at(2, "workers-1/0", "workers-1/1").settle();
  }

  it("does not start an epoch beside Pods that the deleted Job has left behind", () => {
    const scene = jobCreatedAgain();
    expect(scene.epochs).toBe("1/1");
    scene.pod(A, { deletion: DELETED }).pod(B, { phase: "Failed" }).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.forgetPod(A).settle()).toMatchObject({ epochs: "1/2", status: { restarts: 0 } });
  });

  it("does not start an epoch beside such Pods if the controller was restarted either", () => {
    expect(jobCreatedAgain().restartController().settle().epochs).toBe("1/1");
  });

  it("waits for a Pod that was orphaned and keeps running, and says what to do", () => {
    const scene = jobCreatedAgain().forgetPod(A);
    const left = scene.group.members.get(B)?.pod;
    if (left === undefined) throw new Error("a Pod expected");
    // The garbage collector removes the owner that no longer exists; the agent moves to the next epoch.
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
});

describe("lift-barrier, where Pods may continue after a partial success,", () => {
  const annotations = { [ANNOTATION.onPartialSuccess]: "continue" };

  it("does not wait for a Pod that succeeded", () => {
    const scene = runningScene({ annotations }).pod(A, { phase: "Succeeded" }).settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.fails(B, "a").settle().at(2, B).settle().epochs).toBe("1/2");
  });

  it("does not wait for a Pod that succeeded and was deleted", () => {
    const scene = runningScene({ annotations }).pod(A, { phase: "Succeeded" }).forgetPod(A).settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.fails(B, "a").settle().at(2, B).settle().epochs).toBe("1/2");
  });

  it("knows from the Job that a Pod succeeded before it was deleted and the controller restarted", () => {
    const scene = runningScene({ annotations }).pod(A, { phase: "Succeeded" }).settle().forgetPod(A);
    scene
      .job("workers-0", { completedIndexes: [{ first: 0, last: 0 }] })
      .restartController()
      .settle();
    expect(scene.fails(B, "b").settle().at(2, B).settle().epochs).toBe("1/2");
  });

  it("does not wait for the Pods of a Job that is complete", () => {
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
