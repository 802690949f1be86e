import { describe, expect, it } from "vitest";
import type { ContainerState } from "../../src/api/pod.ts";
import { A, B } from "../testing/restarts.ts";
import { runningScene, type Scene } from "../testing/scene.ts";
import { ownCrashes } from "./own-crash.ts";

function ended(exitCode: number, second: number): ContainerState {
  return { kind: "terminated", exitCode, reason: "Error", finishedAt: `2026-01-01T00:00:0${second}Z` };
}

/** All containers of the Pod have ended, its agent last or at the same time. */
function stop(scene: Scene, worker: ContainerState, agent: ContainerState): Scene {
  const containers = scene.group.members.get(A)?.pod.containers ?? [];
  return scene.pod(A, { containers: containers.map((each) => ({ ...each, state: each.init ? agent : worker })) });
}

function crashed(scene: Scene): boolean {
  return ownCrashes(scene.group, scene.status, scene.now).some(({ cause }) => cause.pod === A);
}

describe("a worker that exits", () => {
  it("has crashed by itself if its agent runs", () => {
    expect(crashed(runningScene().fails(A, "a", 137))).toBe(true);
  });

  it("has crashed by itself if it ended before its agent, also after the epoch was deprecated", () => {
    const scene = runningScene().fails(B, "a").settle();
    expect(crashed(stop(scene, ended(1, 3), ended(143, 4)))).toBe(true);
  });

  it("may have been stopped with its agent if both ended in the same second after the epoch was deprecated", () => {
    const scene = runningScene().fails(B, "a").settle();
    expect(crashed(stop(scene, ended(1, 4), ended(88, 4)))).toBe(false);
  });

  it.each([
    [1, true],
    [137, false],
    [143, false],
  ])("with %i in the same second as its agent, while the epoch runs, has crashed by itself: %s", (code, own) => {
    expect(crashed(stop(runningScene(), ended(code, 4), ended(137, 4)))).toBe(own);
  });

  it("has crashed by itself if its Pod is back in the next epoch, although no report has shown its exit", () => {
    const scene = runningScene().at(2, A);
    expect(scene.epochs).toBe("0/1");
    expect(crashed(scene)).toBe(true);
  });

  it("has not crashed by itself if its Pod is back in the next epoch because the group restarts", () => {
    expect(crashed(runningScene().fails(B, "a").settle().at(2, A))).toBe(false);
  });
});
