import { describe, expect, it } from "vitest";
import { TALLY_LIMIT, timeSpent } from "../../src/api/availability.ts";
import { A, B, comeBack, fail, failAndRecover, withMaxRestarts } from "../testing/restarts.ts";
import { DELETED, Scene } from "../testing/scene.ts";

const MINUTE = 60_000;

/** Two workers on two nodes that have started after a minute. */
function started(): Scene {
  const scene = new Scene({ workers: { pods: 2 } }, withMaxRestarts(100)).settle();
  scene.now += MINUTE;
  return scene
    .job("workers-0")
    .pod(A, { node: "node-a" })
    .pod(B, { node: "node-b" })
    .at(1, A, B)
    .settle()
    .runs("a", A, B)
    .settle();
}

/** Minutes in each state until now. */
function minutes(scene: Scene): Readonly<Record<string, number>> {
  const { availability } = scene.status;
  if (availability === undefined) throw new Error("the group has no account");
  return Object.fromEntries(
    Object.entries(timeSpent(availability, scene.now)).map(([state, spent]) => [state, spent / MINUTE]),
  );
}

function later(scene: Scene, count: number): Scene {
  scene.now += count * MINUTE;
  return scene;
}

describe("the account of a group's time", () => {
  it("has the time until every worker runs, and the time in which they run", () => {
    expect(minutes(later(started(), 10))).toEqual({ Waiting: 1, Running: 10, Restarting: 0, Suspended: 0 });
  });

  it("has the time from a failure until every worker runs again", () => {
    const scene = later(fail(later(started(), 10), A).settle(), 2);
    expect(scene.status.availability?.state).toBe("Restarting");
    expect(minutes(later(comeBack(scene), 5))).toEqual({ Waiting: 1, Running: 15, Restarting: 2, Suspended: 0 });
  });

  it("has the time in which the JobSet is suspended", () => {
    const scene = later(started(), 10).changeJobSet({ suspended: true }).job("workers-0", { suspended: true });
    scene.pod(A, { deletion: DELETED }).pod(B, { deletion: DELETED }).settle().forgetPod(A).forgetPod(B).settle();
    later(scene, 30).changeJobSet({ suspended: false }).job("workers-0", { suspended: false }).settle();
    expect(minutes(comeBack(later(scene, 1)))).toEqual({ Waiting: 2, Running: 10, Restarting: 0, Suspended: 30 });
  });

  it("ends with the JobSet", () => {
    const scene = later(started(), 10).changeJobSet({ outcome: "Completed" }).settle();
    expect(scene.status.availability?.state).toBe("Ended");
    expect(minutes(later(scene, 100))).toMatchObject({ Running: 10 });
  });

  it("continues when another controller leads", () => {
    const scene = later(fail(later(started(), 10), A).settle(), 2)
      .restartController()
      .settle();
    expect(minutes(later(comeBack(later(scene, 1)), 5))).toMatchObject({ Running: 15, Restarting: 3 });
  });

  it("causes no write of its own", () => {
    const scene = later(started(), 10);
    expect(scene.verdict().decision).toBeUndefined();
    // A status that an older controller wrote has no account.
    const { availability: _, ...status } = scene.status;
    scene.store({ jobSetUID: "js" }, status);
    expect(scene.verdict().decision).toBeUndefined();
    expect(failAndRecover(scene, A).status.availability).toMatchObject({ state: "Running", restarts: 1 });
  });
});

describe("the account of a group's restarts", () => {
  it("has each restart once, by cause, by Pod and by node", () => {
    const scene = failAndRecover(failAndRecover(failAndRecover(started(), A), A), B);
    scene.pod(B, { node: "node-b" }).settle();
    expect(scene.status.availability).toMatchObject({
      restarts: 3,
      causes: [{ name: "ContainerExited", restarts: 3 }],
      blamedPods: [
        { name: A, restarts: 2 },
        { name: B, restarts: 1 },
      ],
      blamedNodes: [
        { name: "node-a", restarts: 2 },
        { name: "node-b", restarts: 1 },
      ],
    });
  });

  it("blames the node on which the Pod failed, also if its replacement is on another one", () => {
    const scene = started().pod(A, { deletion: DELETED }).settle().forgetPod(A).settle();
    const replacement = `${A}#1`;
    comeBack(scene.pod(replacement, { node: "node-c" }), replacement, B);
    expect(scene.status.availability).toMatchObject({
      causes: [{ name: "PodDeleted", restarts: 1 }],
      blamedNodes: [{ name: "node-a", restarts: 1 }],
    });
  });

  it("does not have a restart that is not complete", () => {
    expect(fail(started(), A).settle().status.availability).toMatchObject({ restarts: 0, causes: [] });
  });

  it("names a few nodes, and a new one can take the place of the least busy", () => {
    const scene = failAndRecover(failAndRecover(started(), A), A);
    for (let node = 0; node < 2 * TALLY_LIMIT; node += 1) {
      // In a scene, the replacement of a Pod has its name.
      failAndRecover(later(scene.pod(A, { node: `node-${node}` }), 20), A);
    }
    const nodes = scene.status.availability?.blamedNodes ?? [];
    expect(nodes).toHaveLength(TALLY_LIMIT);
    expect(nodes[0]).toEqual({ name: "node-a", restarts: 2 });
    expect(nodes[1]).toEqual({ name: `node-${2 * TALLY_LIMIT - 1}`, restarts: 1 });
  });
});
