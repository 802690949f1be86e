import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { comeBack } from "../testing/restarts.ts";
import { runningScene, Scene } from "../testing/scene.ts";

describe("initialize", () => {
  it("starts a new group at epoch 0", () => {
    const scene = new Scene().settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 0, syncedEpoch: 0, restarts: 0, phase: "Starting" });
    expect(scene.status).toMatchObject({ heldStages: [], history: [], ready: "0/2" });
  });

  it("says once which replicatedJobs are left out, and why", () => {
    const leftOut = [{ name: "queue", reason: "completions" }];
    const annotations = { [ANNOTATION.status]: JSON.stringify({ leftOut }) };
    const scene = new Scene({ workers: { pods: 2 } }, { annotations }).settle().settle();
    expect(scene.notices.filter(({ reason }) => reason === "LeftOut")).toHaveLength(1);
  });

  it("restarts a running group once, without counting it, when the object was lost", () => {
    const scene = runningScene().loseObject().settle();
    expect(scene.status).toMatchObject({ deprecatedEpoch: 1, syncedEpoch: 1, phase: "Restarting" });
    expect(comeBack(scene).status).toMatchObject({ deprecatedEpoch: 1, syncedEpoch: 2, restarts: 0 });
    expect(scene.status.history).toMatchObject([
      { cause: { reason: "StateLost" }, rule: "initialize", fromEpoch: 1, toEpoch: 2 },
    ]);
  });

  it.each([1_000_000, 1_000_000_000])("continues at epoch %i, which a long-lived group may have reached", (epoch) => {
    const scene = runningScene().at(epoch, "workers-0/0", "workers-0/1").loseObject().settle();
    expect(scene.epochs).toBe(`${epoch}/${epoch}`);
  });

  it("does not continue at an epoch that no group can have reached", () => {
    const scene = runningScene().at(2_147_483_647, "workers-0/0").loseObject().settle();
    expect(scene.epochs).toBe("1/1");
    expect(scene.forgetPod("workers-0/0").at(2, "workers-0/0#2", "workers-0/1").settle().epochs).toBe("1/2");
  });
});
