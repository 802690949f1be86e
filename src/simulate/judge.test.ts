import { describe, expect, it } from "vitest";
import type { InPlaceRestartStatus } from "../api/in-place-restart.ts";
import { Judge } from "./judge.ts";

function judge(): Judge {
  const judge = new Judge(() => {});
  judge.reset("js", new Map([["workers", ["a", "b"]]]));
  return judge;
}

const worker = { pod: "p", jobSetUid: "js", stage: "workers" };

function stored(change: Partial<InPlaceRestartStatus>) {
  const status: InPlaceRestartStatus = {
    deprecatedEpoch: 1,
    syncedEpoch: 2,
    heldStages: [],
    restarts: 1,
    phase: "Running",
    ready: "2/2",
    history: [],
    conditions: [],
    ...change,
  };
  const metadata = { name: "train", namespace: "ml", uid: "ipr", resourceVersion: "1" };
  return { metadata, spec: { jobSetUID: "js" }, status };
}

describe("the judge", () => {
  it("reports a worker that starts before every slot reached its epoch", () => {
    const each = judge();
    each.slotReached("js", "a", 1);
    each.workerStarted("1", { ...worker, epoch: 1 });
    expect(each.breaches).toEqual(["worker of p started in epoch 1 before slot b reached it (0)"]);
  });

  it("reports workers of two epochs that run at the same time", () => {
    const each = judge();
    for (const slot of ["a", "b"]) each.slotReached("js", slot, 2);
    each.workerStarted("1", { ...worker, epoch: 1 });
    each.workerStarted("2", { ...worker, pod: "q", epoch: 2 });
    expect(each.breaches).toEqual(["worker of q started in epoch 2 while that of p runs in epoch 1"]);
  });

  it("accepts one epoch after the other", () => {
    const each = judge();
    for (const epoch of [1, 2]) {
      for (const slot of ["a", "b"]) each.slotReached("js", slot, epoch);
      for (const uid of ["1", "2"]) each.workerStarted(uid, { ...worker, epoch });
      expect(each.running).toHaveLength(2);
      for (const uid of ["1", "2"]) each.workerEnded(uid);
    }
    expect(each.breaches).toEqual([]);
  });

  it.each([
    [{ syncedEpoch: 1 }, "syncedEpoch moved back"],
    [{ deprecatedEpoch: 0 }, "deprecatedEpoch moved back"],
    [{ deprecatedEpoch: 3 }, "deprecatedEpoch is above syncedEpoch"],
    [{ restarts: 0 }, "restarts moved back"],
    [{ restarts: 3 }, "one write counted several restarts"],
  ])("reports the status write %j", (change, breach) => {
    const each = judge();
    each.objectWritten(stored({}), stored(change));
    expect(each.breaches).toEqual([breach]);
  });
});
