import { describe, expect, it } from "vitest";
import { A, B, comeBack } from "../testing/restarts.ts";
import { runningScene, Scene } from "../testing/scene.ts";

describe("a failure that no event showed", () => {
  it("is blamed on the Pod that has reached the next epoch", () => {
    const scene = runningScene().at(2, A).settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodRestarted", pod: A }, counted: true }]);
    expect(comeBack(scene).status.restarts).toBe(1);
  });

  it("is counted although no kubelet has reported anything yet", () => {
    const scene = new Scene().settle().job("workers-0").at(1, A, B).settle();
    scene.pod(A, { epoch: { kind: "present", epoch: 2 } }).settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodRestarted", pod: A }, counted: true }]);
  });

  it("is one restart even if every Pod has reached the next epoch", () => {
    const scene = runningScene().at(2, A, B).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 1, syncedEpoch: 2, restarts: 1 });
  });

  it("is not counted when the Pod in the next epoch is new: the old one was most likely disrupted", () => {
    const scene = runningScene().forgetPod(A).restartController().settle();
    expect(scene.epochs).toBe("0/1");
    scene.at(2, `${A}#2`).settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodDeleted" }, counted: false }]);
    expect(scene.notices.at(-1)?.note).toBe("a Pod was deleted; not counted as a restart");
  });
});

describe("a Pod with a foreign epoch", () => {
  it.each([6, 2_147_483_647])("such as %i is blamed when its workers stop", (epoch) => {
    const scene = runningScene().at(epoch, A).settle();
    expect(scene.epochs).toBe("0/1");
    const { status } = scene.fails(A, "a").settle();
    expect(status).toMatchObject({ history: [{ cause: { reason: "PodRestarted", pod: A }, counted: true }] });
    expect(status.deprecatedEpoch).toBe(status.syncedEpoch);
  });

  it("is not blamed when its workers succeed", () => {
    const scene = runningScene().at(6, A).settle();
    const done = { kind: "terminated", exitCode: 0, reason: "Completed" } as const;
    const containers = scene.group.members
      .get(A)
      ?.pod.containers.map((each) => (each.init ? each : { ...each, state: done }));
    expect(containers).not.toHaveLength(0);
    expect(scene.pod(A, { containers: containers ?? [] }).settle().epochs).toBe("0/1");
  });
});
