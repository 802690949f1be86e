import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { DELETED, DRIVER, driverScene, FIRST, failureRule, type Scene, SECOND } from "../testing/scene.ts";

/** A leader whose failure is final once its Job has no retries left. */
function leaderScene(backoffLimit = 0): Scene {
  const annotations = { [ANNOTATION.status]: JSON.stringify({ backoffLimits: { driver: backoffLimit } }) };
  const rules = [failureRule({ name: "leader", targetReplicatedJobs: ["driver"] })];
  return driverScene({ annotations, failurePolicy: { maxRestarts: 9, restartStrategy: "Recreate", rules } });
}

describe("hold-for-final-failure, where only the failure of the leader is final,", () => {
  it("waits 2 s for the leader's report before the crash of a follower restarts the group", () => {
    const scene = leaderScene().fails(FIRST, "a").settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.verdict()).toMatchObject({ wakeAt: scene.now + 2_000 });
    scene.now += 2_000;
    expect(scene.settle().epochs).toBe("1/1");
    expect(scene.status.history).toMatchObject([{ cause: { pod: FIRST }, action: "RestartInPlace" }]);
  });

  it("waits as long if the follower restarted although no report has shown its exit", () => {
    const scene = leaderScene().at(2, FIRST).settle();
    expect(scene.epochs).toBe("0/1");
    expect(scene.at(2, DRIVER).step()).toMatchObject({ kind: "fail", reason: "FailJobSetFailurePolicyAction" });
  });

  it("does not start again with every further crash", () => {
    const scene = leaderScene().fails(FIRST, "a").settle();
    scene.now += 1_500;
    scene.fails(SECOND, "a").settle();
    scene.now += 500;
    expect(scene.settle().epochs).toBe("1/1");
  });

  it("fails the JobSet as soon as the leader's crash is reported", () => {
    const scene = leaderScene().fails(FIRST, "a").settle();
    scene.now += 1_000;
    expect(scene.fails(DRIVER, "a").step()).toMatchObject({ kind: "fail", reason: "FailJobSetFailurePolicyAction" });
  });

  it.each<[string, Scene]>([
    ["the leader has retries left", leaderScene(1).fails(FIRST, "a")],
    ["a Pod was deleted", leaderScene().pod(FIRST, { deletion: DELETED })],
    ["the JobSet has no rules", driverScene().fails(FIRST, "a")],
  ])("loses no time if %s", (_, scene) => {
    expect(scene.settle().epochs).toBe("1/1");
  });
});
