import { describe, expect, it } from "vitest";
import { AGENT } from "../../src/api/names.ts";
import type { Pod } from "../../src/api/pod.ts";
import { A, B } from "../testing/restarts.ts";
import { runningScene } from "../testing/scene.ts";

describe("the end of a container run", () => {
  it("does not end the next epoch when the Pod still shows the old status in it", () => {
    const scene = runningScene().fails(A, "a").settle().at(2, A, B).settle();
    expect(scene.epochs).toBe("1/2");
    scene.fails(A, "a").settle();
    expect(scene.epochs).toBe("1/2");
  });

  it.each([
    ["does not end the epoch when its late report belongs to the epoch before", 1, "2/3"],
    ["ends the epoch when its report belongs to this epoch", 2, "3/3"],
  ])("that was first seen after it was over %s", (_, restartCount, epochs) => {
    const scene = runningScene().fails(A, "a").settle().at(2, A, B).settle();
    // The worker failed at once: its Pod was back before the kubelet had reported anything.
    scene.at(3, A).settle().at(3, B).settle();
    expect(scene.epochs).toBe("2/3");
    const common = { containerID: `${A}:new`, started: true, ready: true, restartCount };
    const containers: Pod["containers"] = [
      { ...common, name: "main", init: false, state: { kind: "terminated", exitCode: 1, reason: "Error" } },
      { ...common, name: AGENT.container, init: true, state: { kind: "running" } },
    ];
    expect(scene.pod(A, { phase: "Running", containers }).settle().epochs).toBe(epochs);
  });

  it("ends the epoch also if its agent was reported at the barrier before it took the epoch", () => {
    const scene = runningScene().fails(A, "a").settle();
    const common = { restartCount: 1, started: false, ready: false };
    const containers: Pod["containers"] = [
      { ...common, name: "main", init: false, state: { kind: "waiting", reason: "PodInitializing" } },
      { ...common, name: AGENT.container, init: true, containerID: `${A}:agent`, state: { kind: "running" } },
    ];
    scene.pod(A, { containers }).settle().at(2, A, B).settle().runs("b", A, B).settle();
    expect(scene.epochs).toBe("1/2");
    expect(scene.fails(A, "b").settle().epochs).toBe("2/2");
  });

  it("proves nothing to a restarted controller that has not seen the run before", () => {
    const scene = runningScene().fails(A, "a").settle().at(2, A, B).settle().at(3, A).settle().at(3, B);
    scene.restartController().settle();
    expect(scene.epochs).toBe("2/3");
    expect(scene.fails(A, "b").settle().epochs).toBe("2/3");
    // The same report again is no newer.
    expect(scene.fails(A, "b").settle().epochs).toBe("2/3");
    expect(scene.runs("c", A).settle().fails(A, "c").settle().epochs).toBe("3/3");
  });
});
