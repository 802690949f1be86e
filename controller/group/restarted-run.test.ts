// A kubelet may remove the containers of a Pod that restarts in place before it has reported how they ended.
import { describe, expect, it } from "vitest";
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import { A, arrive, B, comeBack } from "../testing/restarts.ts";
import { runningScene } from "../testing/scene.ts";
import { ownCrashes } from "./own-crash.ts";

describe("a Pod that restarts in place, and no report has shown why,", () => {
  it("has ended the epoch before it takes the next one, and is to blame", () => {
    const scene = runningScene().restarts(A).settle();
    expect(scene.epochs).toBe("1/1");
    comeBack(scene);
    expect(scene.status).toMatchObject({ restarts: 1, history: [{ cause: { reason: "PodRestarted", pod: A } }] });
  });

  it("has crashed, as far as rules of the user look at it", () => {
    const scene = runningScene().restarts(A);
    expect(ownCrashes(scene.group, scene.status, scene.now)).toMatchObject([{ cause: { pod: A }, stage: "workers" }]);
  });

  it("proves nothing if its run was known before the sync, because the status may be older", () => {
    const scene = runningScene().fails(B, "a").settle().at(2, B);
    // The report of the restart is sent only now, when the group has been synced again.
    scene.pod(A, { epoch: { kind: "present", epoch: 2 } }).settle();
    expect(scene.epochs).toBe("1/2");
    expect(scene.restarts(A).settle().epochs).toBe("1/2");
  });

  it("proves nothing to a controller that does not know how often the Pod had restarted", () => {
    const scene = runningScene().restartController().settle();
    expect(scene.restarts(A).settle().epochs).toBe("0/1");
  });

  it("has not failed if the group was told to restart", () => {
    const scene = runningScene().fails(B, "a", 3).settle().restarts(A);
    expect(scene.group.firstLosses.has(A)).toBe(false);
    expect(arrive(scene).settle().status.history).toMatchObject([{ cause: { pod: B, exitCode: 3 } }]);
  });

  it("has not failed if the order had been given before the watch showed it", () => {
    const scene = runningScene();
    const ordered = new Date(scene.now).toISOString();
    scene.now += 300;
    scene.restarts(A).fails(B, "a", 3);
    expect(scene.group.firstLosses.has(A)).toBe(true);
    const record: InPlaceRestartStatus["history"][number] = {
      cause: { reason: "ContainerExited", pod: B, container: "main", exitCode: 3 },
      action: "RestartInPlace",
      fromEpoch: 1,
      counted: true,
      failureSeen: ordered,
      deprecated: ordered,
    };
    scene.store({ jobSetUID: "js" }, { ...scene.status, deprecatedEpoch: 1, history: [record] });
    expect(ownCrashes(scene.group, scene.status, scene.now).map(({ cause }) => cause.pod)).toEqual([B]);
    expect(arrive(scene).settle().status.history).toMatchObject([{ cause: { pod: B, exitCode: 3 } }]);
  });

  it("is no failure if its Pod was deleted", () => {
    const deletion = { timestamp: "2026-01-01T00:00:30Z", graceSeconds: 30 };
    expect(runningScene().pod(A, { deletion }).restarts(A).settle().epochs).toBe("0/1");
  });
});
