import { describe, expect, it } from "vitest";
import { HEALTHY_CLUSTER, type Surroundings } from "../stuck-pods/surroundings.ts";
import { A, B, comeBack } from "../testing/restarts.ts";
import { DISRUPTED, LEAVING, runningScene, Scene } from "../testing/scene.ts";
import { savesUntil } from "./grace.ts";

const EVICTED = { deletion: LEAVING, conditions: [DISRUPTED] };
/** Ten seconds after the end of its grace period. */
const OVERDUE = Date.parse("2026-01-01T00:00:40Z");

function threeWorkers(): Scene {
  const slots = [A, B, "workers-0/2"];
  const scene = new Scene({ workers: { pods: 3 } }).settle().job("workers-0");
  return scene
    .at(1, ...slots)
    .settle()
    .runs("a", ...slots)
    .settle();
}

describe("while a Pod is going away, the epoch continues", () => {
  it.each([
    ["deleted", { deletion: LEAVING }],
    ["evicted", EVICTED],
  ])("until the grace period of a Pod that was %s is over", (_, change) => {
    const scene = runningScene().pod(A, change).settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.verdict().wakeAt).toBe(OVERDUE);
    scene.now = OVERDUE - 1;
    expect(scene.settle().epochs).toBe("0/1");
    scene.now = OVERDUE;
    expect(scene.settle().epochs).toBe("1/1");
  });

  it("until its workers have ended, whatever its other containers do", () => {
    const scene = runningScene().pod(A, EVICTED).settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.fails(A, "a", 143).pod(A, EVICTED).settle().epochs).toBe("1/1");
    expect(scene.status.history).toMatchObject([{ cause: { reason: "Disruption", pod: A }, counted: false }]);
  });

  it("until all of its workers have ended", () => {
    const scene = runningScene().pod(A, EVICTED);
    const [main, ...others] = scene.group.members.get(A)?.pod.containers ?? [];
    if (main === undefined) throw new Error("a Pod of the scene has containers");
    const ended = { ...main, state: { kind: "terminated", exitCode: 143, reason: "Error" } } as const;
    const member = scene.pod(A, { containers: [ended, ...others] }).group.members.get(A);
    if (member === undefined) throw new Error("the Pod is a member");
    expect(savesUntil(member, ["main"], undefined, scene.now)).toBeUndefined();
    expect(savesUntil(member, ["main", "logger"], undefined, scene.now)).toBe(OVERDUE);
  });

  it("and the failure is seen when its workers have ended, not when it was deleted", () => {
    const scene = runningScene().pod(A, EVICTED).settle();
    scene.now += 20_000;
    scene.pod(A, { phase: "Failed" }).settle();
    expect(scene.status.history).toMatchObject([{ failureSeen: new Date(scene.now).toISOString() }]);
  });

  it("until it has failed", () => {
    const scene = runningScene().pod(A, EVICTED).settle().pod(A, { phase: "Failed" }).settle();
    expect(scene.epochs).toBe("1/1");
  });

  it("until it is gone", () => {
    const scene = runningScene().pod(A, { deletion: LEAVING }).settle();
    scene.now += 20_000;
    scene.forgetPod(A).settle();
    expect(scene.status.history).toMatchObject([{ failureSeen: new Date(scene.now).toISOString() }]);
    expect(scene.epochs).toBe("1/1");
    expect(scene.status.history).toMatchObject([{ cause: { reason: "PodDeleted", pod: A }, counted: true }]);
  });

  it("until its node is unreachable", () => {
    const unreachable = new Map<string, { readonly since?: string }>();
    const surroundings: Surroundings = { ...HEALTHY_CLUSTER, unreachable };
    const scene = runningScene({}, surroundings).pod(A, { ...EVICTED, node: "node-1" });
    expect(scene.settle().epochs).toBe("0/1");
    unreachable.set("node-1", {});
    expect(scene.settle().epochs).toBe("1/1");
  });

  it("until the last of several such Pods has ended", () => {
    const scene = threeWorkers().pod(A, EVICTED).pod(B, EVICTED).settle();
    expect(scene.forgetPod(A).settle().epochs).toBe("0/1");
    expect(scene.forgetPod(B).settle().epochs).toBe("1/1");
  });

  it("even if the replacement of another one is at the barrier already", () => {
    const scene = threeWorkers().pod(A, EVICTED).pod(B, EVICTED).settle();
    scene.forgetPod(A).at(2, `${A}#2`).settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.forgetPod(B).settle().epochs).toBe("1/1");
  });

  it("even if its status still shows the end of a run in an earlier epoch", () => {
    const scene = runningScene().fails(A, "a").settle().at(2, A, B).settle();
    expect(scene.pod(A, EVICTED).settle().epochs).toBe("1/2");
  });

  it("but ends at once when the worker of a peer fails, and a disruption is not counted", () => {
    const scene = runningScene().pod(A, EVICTED).settle().fails(B, "a").settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.status.history).toMatchObject([{ cause: { reason: "ContainerExited", pod: B }, counted: false }]);
  });

  it("but ends at once when a peer has restarted and no event showed why", () => {
    const scene = runningScene().pod(A, EVICTED).settle().at(2, B).settle();
    expect(scene.epochs).toBe("1/1");
  });

  it("and on if its workers exit with 0: its index is complete", () => {
    const scene = runningScene().pod(A, EVICTED).settle().pod(A, { phase: "Succeeded" }).settle();
    expect(scene.forgetPod(A).settle()).toMatchObject({ epochs: "0/1", status: { history: [] } });
  });
});

describe("while the Pods of a deleted Job end, the epoch continues", () => {
  it("until they are gone, and nothing is counted", () => {
    const scene = runningScene().job("workers-0", { deletionTimestamp: LEAVING.timestamp }).settle();
    scene.pod(A, { deletion: LEAVING }).settle().forgetPod(A).settle();
    // The garbage collector has not come to this one yet.
    expect(scene.epochs).toBe("0/1");
    expect(scene.pod(B, { deletion: LEAVING }).settle().epochs).toBe("0/1");
    scene.forgetPod(B).settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 1, history: [{ counted: false }] });
  });

  it("for half a minute if they were orphaned and keep running", () => {
    const scene = runningScene().forgetJob("workers-0").settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.verdict().wakeAt).toBe(scene.now + 30_000);
    scene.now += 30_000;
    expect(scene.settle().epochs).toBe("1/1");
  });
});

it("a Pod that is deleted at the barrier has nothing to save, so nothing waits for its grace period", () => {
  const scene = runningScene().fails(A, "a").settle().at(2, A, B).pod(A, EVICTED).settle();
  expect(comeBack(scene.forgetPod(A), `${A}#2`, B).status.syncedEpoch).toBe(2);
});

it("a JobSet that is deleted restarts none of its Pods in place", () => {
  const scene = runningScene().changeJobSet({ deletionTimestamp: LEAVING.timestamp }).pod(A, { deletion: LEAVING });
  expect(scene.settle().forgetPod(A).settle().fails(B, "a").settle().epochs).toBe("0/1");
});
