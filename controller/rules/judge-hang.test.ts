import { describe, expect, it } from "vitest";
import type { HangReport } from "../../src/api/hang-report.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import { A, B, comeBack, fail } from "../testing/restarts.ts";
import { LEAVING, runningScene, type Scene } from "../testing/scene.ts";

const RESTART: Pick<JobSet, "annotations"> = { annotations: { [ANNOTATION.onHang]: "restart" } };
const STOPPED_AT = Date.UTC(2025, 11, 31);

function report(scene: Scene, slot: string, change: Partial<HangReport> = {}): Scene {
  return scene.pod(slot, { hang: { epoch: 1, state: "stopped", since: STOPPED_AT, ...change } });
}

function later(scene: Scene, ms = 750): Scene {
  scene.now += ms;
  return scene.settle();
}

/** Both have stopped, A at a lower step. */
function hung(jobSet = RESTART): Scene {
  const scene = runningScene(jobSet);
  report(scene, A, { step: 7 });
  report(scene, B, { step: 8 });
  return scene.settle();
}

const reasons = ({ notices }: Scene) => notices.map(({ reason }) => reason);
const epochsAfter = (scene: Scene) => later(scene).epochs;

describe("judge-hang", () => {
  it("restarts a group in which every worker has stopped, and blames the one that is behind", () => {
    const scene = later(hung());
    expect(scene.epochs).toBe("1/1");
    expect(scene.status.history).toMatchObject([
      { cause: { reason: "Hung", pod: A, step: 7 }, rule: "judge-hang", counted: true, fromEpoch: 1 },
    ]);
    expect(scene.notices.map(({ reason, note }) => `${reason}: ${note}`)).toEqual([
      `GroupHung: no worker makes progress: Pod ${A} stopped first, at 2025-12-31T00:00:00.000Z after step 7`,
      `RestartingInPlace: no worker makes progress: Pod ${A} stopped first, at 2025-12-31T00:00:00.000Z after ` +
        "step 7; restart 1 of 3 (from failurePolicy.maxRestarts)",
    ]);
    expect(comeBack(scene).status).toMatchObject({ syncedEpoch: 2, restarts: 1, phase: "Running" });
  });

  it("waits a moment after the last report, and hears a worker that moves again", () => {
    const scene = hung();
    scene.now += 749;
    expect(scene.settle().epochs).toBe("0/1");
    expect(epochsAfter(scene.moves(B))).toBe("0/1");
    expect(epochsAfter(report(scene, B, { since: STOPPED_AT + 60_000 }).settle())).toBe("1/1");
  });

  it.each<[string, (scene: Scene) => Scene]>([
    ["one Pod has not reported anything", (scene) => scene.moves(B)],
    ["the report of one Pod is about an older epoch", (scene) => report(scene, B, { epoch: 0 })],
    [
      "no worker has shown any progress",
      (scene) => report(report(scene, A, { state: "silent" }), B, { state: "silent" }),
    ],
    ["a Pod is going away", (scene) => scene.pod(B, { deletion: LEAVING })],
    ["the JobSet is suspended", (scene) => scene.changeJobSet({ suspended: true })],
    [
      "the JobSet has no start deadline, and no worker has started",
      (scene) => report(report(scene, A, { state: "unstarted" }), B, { state: "unstarted" }),
    ],
  ])("does nothing if %s", (_, change) => {
    const scene = change(hung());
    later(scene);
    expect(reasons(scene)).not.toContain("GroupHung");
    expect(scene.status.history.map(({ cause }) => cause.reason)).not.toContain("Hung");
  });

  it("judges a group of which some workers never report", () => {
    const scene = report(hung(), B, { state: "silent" }).settle();
    expect(scene.epochs).toBe("0/1");
    expect(later(scene).status.history).toMatchObject([{ cause: { reason: "Hung", pod: A } }]);
  });

  it("does not restart the group again for the reports of the epoch before", () => {
    const scene = later(hung());
    comeBack(scene);
    expect(epochsAfter(scene)).toBe("1/2");
    expect(scene.restartController().settle().epochs).toBe("1/2");
    expect(scene.status.history).toHaveLength(1);
  });

  it("does not restart a group for which a failure has ended the epoch", () => {
    const scene = fail(hung(), B);
    expect(later(scene.settle()).status.history).toMatchObject([{ cause: { reason: "ContainerExited" } }]);
  });

  it("warns once by default, and again only after the workers have moved", () => {
    const scene = later(hung({ annotations: {} }));
    const isHung = () => scene.status.conditions.find(({ type }) => type === "Hung")?.status;
    expect(later(scene, 60_000).epochs).toBe("0/1");
    expect([reasons(scene), isHung()]).toEqual([["GroupHung"], "True"]);
    expect(later(scene.moves(B)).status.conditions).toMatchObject([{}, {}, { status: "False", reason: "Moving" }]);
    later(report(scene, B).settle());
    expect(reasons(scene)).toEqual(["GroupHung", "GroupHung"]);
  });

  it("restarts a group that hangs already when the JobSet starts to ask for it", () => {
    const scene = later(hung({ annotations: {} }));
    expect(scene.changeJobSet(RESTART).settle().epochs).toBe("1/1");
  });

  it("blames the Pod that stopped clearly before the others if steps do not tell", () => {
    const scene = report(runningScene(RESTART), A, { since: STOPPED_AT + 2_000 });
    later(report(scene, B).settle());
    expect(scene.status.history).toMatchObject([{ cause: { pod: B, since: "2025-12-31T00:00:00.000Z" } }]);
  });

  it("blames no Pod if all stopped at about the same time, and then the group climbs the ladder", () => {
    const scene = report(runningScene(RESTART), A, { since: STOPPED_AT + 1_999 });
    later(report(scene, B).settle());
    const [record] = scene.status.history;
    expect(record?.cause).toMatchObject({ reason: "Hung", candidates: [B, A] });
    expect(record?.streak).toEqual({ restarts: 1, unexplained: 1 });
  });

  it("replaces the Pod that is blamed twice in a row", () => {
    const scene = comeBack(later(hung()));
    report(scene, A, { epoch: 2, step: 7 });
    report(scene, B, { epoch: 2, step: 8 });
    later(scene.settle());
    expect(scene.status.history.at(-1)).toMatchObject({
      action: "RecreatePod",
      target: A,
      streak: { restarts: 2, failures: 2 },
    });
    expect(reasons(scene)).toContain("RecreatingPod");
  });

  it("reports workers that run and never start, after the deadline since they were started", () => {
    const annotations = { [ANNOTATION.onHang]: "restart", [ANNOTATION.startDeadline]: "10m" };
    const scene = runningScene({ annotations });
    for (const slot of [A, B]) report(scene, slot, { state: "unstarted" });
    later(scene.settle(), 1_000);
    expect(scene.status.history).toMatchObject([{ cause: { reason: "Hung", candidates: [A, B] } }]);
  });
});
