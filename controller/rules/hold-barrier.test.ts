import { describe, expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { A, B, fail, failAndRecover, withMaxRestarts } from "../testing/restarts.ts";
import { runningScene } from "../testing/scene.ts";

const CRASH_LOOP = { ...withMaxRestarts(20), annotations: { [ANNOTATION.escalateAfter]: "0" } };

describe("hold-barrier", () => {
  it("does not delay three restarts, then holds the barrier for 10 s, 20 s and so on", () => {
    const scene = [A, B, A].reduce(failAndRecover, runningScene(CRASH_LOOP));
    expect(scene.status.history.some(({ backoffUntil }) => backoffUntil !== undefined)).toBe(false);
    const backoffUntil = new Date(scene.now + 10_000).toISOString();
    fail(scene, B).settle();
    expect(scene.status.history.at(-1)).toMatchObject({ streak: { restarts: 4 }, backoffUntil });
    scene.now += 2_000;
    scene.at(5, A, B).settle();
    expect(scene.epochs).toBe("4/4");
    const message = `holding the barrier until ${backoffUntil}: 4 restarts in a row without progress`;
    expect(scene.status.conditions).toContainEqual(
      expect.objectContaining({ type: "AtBarrier", status: "True", reason: "BackOff", message }),
    );
    expect(scene.notices.at(-1)).toMatchObject({ reason: "BackingOff", note: message });
    expect(scene.verdict()).toEqual({ reports: [], wakeAt: scene.now + 8_000 });
    scene.now += 8_000;
    expect(scene.settle().epochs).toBe("4/5");
    expect(scene.status.history.at(-1)).toMatchObject({ synced: backoffUntil });
    scene.runs("run-5", A, B).settle();
    const next = new Date(scene.now + 20_000).toISOString();
    expect(fail(scene, A).settle().status.history.at(-1)).toMatchObject({ backoffUntil: next });
  });

  it("holds the barrier no longer than the maximum, and reports no stall meanwhile", () => {
    const scene = runningScene(CRASH_LOOP);
    scene.policy = { ...scene.policy, backoff: { after: 0, first: 100_000, max: 120_000 } };
    fail(scene, A).settle().at(2, A, B).settle();
    expect(scene.verdict().wakeAt).toBe(scene.now + 100_000);
    scene.now += 100_000;
    scene.settle().runs("run-2", A, B).settle();
    fail(scene, A).settle().at(3, A, B).settle();
    expect(scene.verdict().wakeAt).toBe(scene.now + 120_000);
    scene.now += 119_999;
    expect(scene.step()).toBeUndefined();
  });

  it("does not delay a restart after a run that made progress", () => {
    const scene = [A, B, A].reduce(failAndRecover, runningScene(CRASH_LOOP));
    scene.now += 600_000;
    expect(failAndRecover(scene, B).epochs).toBe("4/5");
  });
});
