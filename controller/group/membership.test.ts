import { describe, expect, it } from "vitest";
import { A, B } from "../testing/restarts.ts";
import { runningScene, Scene } from "../testing/scene.ts";

describe("the members of a group", () => {
  it("do not include a Pod that has the labels of a member but no known Job as its controller", () => {
    const scene = runningScene()
      .pod("stranger-0/0", { replicatedJob: "workers", injected: true })
      .at(2, "stranger-0/0");
    expect(scene.settle().epochs).toBe("0/1");
  });

  it("do not include Pods of a Job that belongs to another JobSet", () => {
    const scene = runningScene();
    scene
      .job("workers-7", { controller: { kind: "JobSet", name: "train", uid: "other" } })
      .at(2, "workers-7/0")
      .settle();
    expect(scene.epochs).toBe("0/1");
  });

  it("do not include a Pod of an earlier JobSet with the same name", () => {
    const scene = new Scene().settle().job("workers-0").at(1, A, B);
    scene.pod("workers-9/0", { jobSetUid: "earlier" });
    expect(scene.settle().epochs).toBe("0/1");
  });

  it("include Pods that arrive before their Job as soon as the Job is known", () => {
    const scene = new Scene().settle().at(1, A, B).settle();
    expect(scene.epochs).toBe("0/0");
    expect(scene.job("workers-0").settle().epochs).toBe("0/1");
  });
});
