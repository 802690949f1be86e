import { describe, expect, it } from "vitest";
import { Judge } from "./judge.ts";
import { stored } from "./testing/stored-object.ts";

/** Long after everything is visible that is said to be visible at 0. */
const NOW = 60_000;

function judge(): Judge {
  const judge = new Judge(
    () => {},
    () => NOW,
  );
  judge.reset("js", new Map([["workers", ["a", "b"]]]));
  return judge;
}

const worker = { pod: "p", jobSetUid: "js", stage: "workers" };

/** The group has restarted once, and its epoch 2 runs. */
const once = { deprecatedEpoch: 1, syncedEpoch: 2, restarts: 1 };

describe("the judge", () => {
  describe("of what agents are told", () => {
    const told = (version: number, deprecatedEpoch: number, syncedEpoch: number) => ({
      metadata: { name: "js", owner: "ipr" },
      spec: { version, deprecatedEpoch, syncedEpoch, heldStages: [] },
    });

    it("accepts what the InPlaceRestart said at that version", () => {
      const each = judge();
      each.objectWritten(undefined, stored({}));
      each.agentsTold(undefined, told(1, 0, 1));
      expect(each.breaches).toEqual([]);
    });

    it("reports epochs that the InPlaceRestart did not have", () => {
      const each = judge();
      each.objectWritten(undefined, stored({}));
      each.agentsTold(undefined, told(1, 1, 2));
      each.agentsTold(undefined, told(2, 0, 1));
      expect(each.breaches).toEqual([
        "agents were told deprecated 1, synced 2, held , but version 1 says deprecated 0, synced 1, held ",
        "agents were told deprecated 0, synced 1, held , but version 2 says nothing",
      ]);
    });

    it("reports a version that is older than the last one", () => {
      const each = judge();
      each.objectWritten(undefined, stored({}));
      each.agentsTold(told(2, 1, 1), told(1, 0, 1));
      expect(each.breaches).toEqual(["agents were told version 1 after version 2"]);
    });
  });

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
    each.objectWritten(stored(once), stored({ ...once, ...change }));
    expect(each.breaches).toEqual([breach]);
  });
});

/** Workers of two Pods run in epoch 2. */
function running(): Judge {
  const each = judge();
  for (const slot of ["a", "b"]) each.slotReached("js", slot, 2);
  each.workerStarted("1", { ...worker, epoch: 2 });
  each.workerStarted("2", { ...worker, pod: "q", epoch: 2 });
  return each;
}

function endEpoch(each: Judge): void {
  each.objectWritten(stored(once), stored({ ...once, deprecatedEpoch: 2 }));
}

describe("the judge of grace periods", () => {
  it("reports an epoch that ends although nothing ended in it", () => {
    const each = running();
    endEpoch(each);
    expect(each.breaches).toEqual(["epoch 2 ended although nothing ended in it"]);
  });

  it("reports an epoch that ends while the worker of a deleted Pod saves its work", () => {
    const each = running();
    each.saveBegan("1", 0);
    each.workerStarted("3", { ...worker, pod: "r", epoch: 2 });
    each.workerEnded("3");
    endEpoch(each);
    expect(each.breaches).toEqual(["epoch 2 ended while p saves its work"]);
  });

  it("reports a checkpoint that a peer could not complete because it was restarted in place", () => {
    const each = running();
    each.saveBegan("1", 0);
    each.workerKilled("2");
    each.workerEnded("2");
    endEpoch(each);
    each.saveEnded("1");
    expect(each.breaches).toContain("p saved its work without q, restarted in place meanwhile");
  });

  it("reports an epoch that ends while the Pods of a suspended JobSet run", () => {
    const each = running();
    each.jobSetSuspended(0);
    each.epochFailed("js", 2);
    endEpoch(each);
    expect(each.breaches).toEqual(["epoch 2 ended while Pods of a suspended JobSet run in it"]);
  });

  it("reports a JobSet that fails because of a disruption", () => {
    const each = running();
    each.podDisrupted("1");
    each.jobSetFailed("js", 2);
    expect(each.breaches).toEqual(["the JobSet failed because of a disruption in epoch 2"]);
  });

  it("accepts that a JobSet fails after the evicted Pod has succeeded all the same", () => {
    const each = running();
    each.podDisrupted("1");
    each.podSucceeded("1");
    each.jobSetFailed("js", 2);
    expect(each.breaches).toEqual([]);
  });

  it("does not excuse an epoch with a failure in one of the same number, before the object was lost", () => {
    const each = running();
    each.epochFailed("js", 2);
    each.objectWritten(undefined, stored({ deprecatedEpoch: 0, syncedEpoch: 0 }));
    endEpoch(each);
    expect(each.breaches).toEqual(["epoch 2 ended although nothing ended in it"]);
  });

  it("accepts an epoch that ends after a failure, or when the workers of a deleted Pod have ended", () => {
    const failed = running();
    failed.saveBegan("1", 0);
    failed.epochFailed("js", 2);
    const departed = running();
    departed.saveBegan("1", 0);
    departed.saveEnded("1");
    departed.workerEnded("1");
    for (const each of [failed, departed]) {
      endEpoch(each);
      each.workerKilled("2");
      each.workerEnded("2");
      each.saveEnded("1");
      each.jobSetFailed("js", 2);
      expect(each.breaches).toEqual([]);
    }
  });

  it("accepts what no controller can have seen yet", () => {
    const each = running();
    each.saveBegan("1", NOW);
    each.jobSetSuspended(NOW);
    each.workerStarted("3", { ...worker, pod: "r", epoch: 2 });
    each.workerEnded("3");
    endEpoch(each);
    each.workerKilled("2");
    each.saveEnded("1");
    expect(each.breaches).toEqual([]);
  });
});
