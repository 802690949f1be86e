import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { A, arrive, B, comeBack, fail } from "../testing/restarts.ts";
import { runningScene, type Scene } from "../testing/scene.ts";

const ENDLESS = { annotations: { [ANNOTATION.maxRestarts]: "20", [ANNOTATION.escalateAfter]: "9" } };
const FULL = { shmLeftoverBytes: 48 * 2 ** 20 };

/** The worker of A fails this long after the start of its run. */
function failAfter(scene: Scene, ms: number): Scene {
  scene.now += ms;
  return fail(scene, A).settle();
}

function lastAction(scene: Scene): string | undefined {
  return scene.status.history.at(-1)?.action;
}

describe("a worker that fails at once while earlier runs have filled the /dev/shm of its Pod", () => {
  it("gets a new Pod the second time in a row, and the Event says why", () => {
    const scene = runningScene(ENDLESS);
    comeBack(failAfter(scene, 500_000).pod(A, FULL).pod(B, FULL));
    comeBack(failAfter(scene, 5_000));
    expect(lastAction(scene)).toBe("RestartInPlace");
    arrive(failAfter(scene, 59_000)).settle();
    expect(scene.status.history.at(-1)).toMatchObject({ action: "RecreatePod", target: A, counted: true });
    expect(scene.notices.at(-1)).toMatchObject({ reason: "RecreatingPod" });
    expect(scene.notices.at(-1)?.note).toContain("; 48 MiB left in /dev/shm by earlier runs");
    expect(scene.group.members.get(B)?.pod.deletion).toBeUndefined();
  });

  it("gets a new Pod together with all others for which that holds if no Pod can be blamed", () => {
    const scene = runningScene(ENDLESS);
    scene.pod(A, FULL).pod(B, FULL);
    for (const _ of [1, 2]) comeBack(fail(fail(scene, A), B).settle());
    arrive(fail(fail(scene, A), B).settle()).step();
    expect(scene.status.history.at(-1)).toMatchObject({ action: "RecreatePod", targets: [A, B] });
  });

  it.each([
    ["the leftovers are small", { shmLeftoverBytes: 2 ** 20 }, 5_000, ENDLESS],
    ["nothing is left", {}, 5_000, ENDLESS],
    ["its last run was longer than a minute", FULL, 61_000, ENDLESS],
    ["escalate-after is 0", FULL, 5_000, { annotations: { ...ENDLESS.annotations, [ANNOTATION.escalateAfter]: "0" } }],
  ])("restarts in place if %s", (_, leftovers, ms, jobSet) => {
    const scene = runningScene(jobSet);
    scene.pod(A, leftovers);
    for (const _run of [1, 2]) comeBack(failAfter(scene, 5_000));
    arrive(failAfter(scene, ms)).settle();
    expect(lastAction(scene)).toBe("RestartInPlace");
  });
});
