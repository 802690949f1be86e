import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { HEALTHY_CLUSTER } from "../stuck-pods/surroundings.ts";
import { A, B, comeBack, fail, failAndRecover, withMaxRestarts } from "../testing/restarts.ts";
import { DELETED, DISRUPTED, runningScene, Scene } from "../testing/scene.ts";

const EVICTED = { deletion: DELETED, conditions: [DISRUPTED] };

describe("uncount-disruption", () => {
  it("does not count a restart when a disruption caused the failure that was seen first", () => {
    const scene = runningScene().fails(B, "a").settle();
    expect(scene.status.history).toMatchObject([{ counted: true }]);
    scene.pod(A, EVICTED).settle();
    expect(scene.status.history).toMatchObject([{ cause: { pod: B }, counted: false, rule: "end-epoch" }]);
    expect(scene.forgetPod(A).at(2, B, `${A}#2`).settle().status).toMatchObject({ syncedEpoch: 2, restarts: 0 });
  });

  it("does not count a restart while a Pod that has not come back is on an unreachable node", () => {
    const unreachable = new Map<string, { readonly since?: string }>();
    const scene = runningScene(withMaxRestarts(0), { ...HEALTHY_CLUSTER, unreachable }).pod(A, { node: "node-1" });
    scene.fails(B, "a").settle().at(2, B).settle();
    expect(scene.status.history).toMatchObject([{ counted: true }]);
    unreachable.set("node-1", {});
    expect(scene.settle().status.history).toMatchObject([{ counted: false }]);
    // The node is back before the Pod was evicted.
    unreachable.clear();
    expect(comeBack(scene).status).toMatchObject({ syncedEpoch: 2, restarts: 0 });
  });

  it.each([
    ["the Pod on the unreachable node has reported its own failure", A, false],
    ["every node seems to be unreachable: the control plane was cut off", B, true],
  ])("counts the restart if %s", (_, failed, braked) => {
    const unreachable = new Map([["node-1", {}]]);
    const scene = runningScene(withMaxRestarts(3), { ...HEALTHY_CLUSTER, unreachable, braked });
    scene.pod(A, { node: "node-1" }).fails(failed, "a").settle();
    expect(scene.status.history).toMatchObject([{ counted: true }]);
  });

  it("does not count a restart if a Pod was replaced while no controller watched: it was most likely disrupted", () => {
    const scene = runningScene().forgetPod(A).restartController().settle().at(2, B).settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodRestarted", pod: B }, counted: true }]);
    scene.at(2, `${A}#2`).settle();
    expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: 0, history: [{ counted: false }] });
  });

  it("counts a failure in an epoch if the disruption happened at the barrier before it", () => {
    const scene = new Scene().settle().job("workers-0").at(1, A, B);
    scene.pod(A, EVICTED).settle().forgetPod(A).at(1, `${A}#2`).settle();
    scene.runs("a", `${A}#2`, B).settle().fails(B, "a").settle();
    expect(scene.status.history).toMatchObject([{ cause: { pod: B }, counted: true }]);
  });

  it("removes the back-off, and the failure from the streak", () => {
    const endless = { ...withMaxRestarts(20), annotations: { [ANNOTATION.escalateAfter]: "0" } };
    const scene = [A, B, A].reduce(failAndRecover, runningScene(endless));
    fail(scene, B).settle();
    expect(scene.status.history.at(-1)?.backoffUntil).toBeDefined();
    scene.pod(A, EVICTED).settle().forgetPod(A);
    expect(scene.status.history.at(-1)?.backoffUntil).toBeUndefined();
    expect(comeBack(scene, `${A}#2`, B).epochs).toBe("4/5");
    expect(scene.status.history.at(-1)).toMatchObject({ counted: false, streak: { restarts: 3 } });
  });

  it("does not revive a streak that progress has ended", () => {
    const scene = failAndRecover(failAndRecover(runningScene(), A), A);
    scene.now += scene.policy.progressAfter;
    fail(scene, A).settle();
    expect(scene.status.history.at(-1)?.streak).toMatchObject({ failures: 1 });
    scene.pod(B, EVICTED).settle();
    expect(scene.status.history.at(-1)).toMatchObject({ counted: false });
    expect(scene.status.history.at(-1)).not.toHaveProperty("streak");
  });

  it("leaves the count of a recreated Job to JobSet, in whatever order Pods and Job are seen to go", () => {
    const scene = runningScene().pod(A, { deletion: DELETED }).pod(B, { deletion: DELETED }).settle();
    scene.job("workers-0", { deletionTimestamp: DELETED.timestamp }).settle();
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodDeleted" }, counted: false }]);
    scene.forgetPod(A).forgetPod(B).forgetJob("workers-0").changeJobSet({ restarts: 1, restartsCountTowardsMax: 1 });
    scene.job("workers-0", { uid: "workers-0" }).at(2, `${A}#2`, `${B}#2`).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 1, syncedEpoch: 2, restarts: 0 });
  });
});
