import { describe, expect, it } from "vitest";
import { readInPlaceRestart } from "../../api/in-place-restart.ts";
import { readJobSet } from "../../api/jobset.ts";
import { groupDetail, groupView } from "./group-view.ts";

const CAUSE = {
  reason: "ContainerExited",
  pod: "train-workers-0-1",
  container: "main",
  exitCode: 3,
  message: "no GPU",
};

function record(seconds: readonly number[], more: object = {}) {
  const steps = ["failureSeen", "deprecated", "allRestarted", "synced", "allRunning"];
  const times = seconds.map((second, index) => [steps[index], new Date(second * 1_000).toISOString()]);
  return { cause: CAUSE, action: "RestartInPlace", fromEpoch: 1, counted: true, ...Object.fromEntries(times), ...more };
}

function object(status?: object) {
  const epochs = { deprecatedEpoch: 1, syncedEpoch: 2, phase: "Running", ready: "2/2", restarts: 1 };
  return readInPlaceRestart({
    metadata: { namespace: "team", name: "train", uid: "u", resourceVersion: "1" },
    spec: { jobSetUID: "j" },
    ...(status === undefined ? {} : { status: { ...epochs, ...status } }),
  });
}

const JOBSET = readJobSet({ metadata: { name: "train" }, spec: { suspend: true, failurePolicy: { maxRestarts: 5 } } });

describe("a group in the list", () => {
  it("shows its budget and where that comes from", () => {
    expect(groupView(object({}), JOBSET)).toMatchObject({
      key: "team/train",
      phase: "Running",
      suspended: true,
      ready: "2/2",
      epoch: 2,
      restarts: 1,
      budget: { max: 5, from: "from failurePolicy.maxRestarts" },
    });
  });

  it("is starting before it has a status, and has no budget without its JobSet", () => {
    expect(groupView(object(), undefined)).toEqual({
      key: "team/train",
      phase: "Starting",
      suspended: false,
      ready: "",
      restarts: 0,
      recovery: { completed: 0 },
      waitsFor: [],
    });
  });

  it("shows how long recoveries took, without those that are not over", () => {
    const history = [
      record([0, 1, 2, 3, 9]),
      record([20, 20, 21, 21, 24]),
      record([40, 40, 41, 41, 45]),
      record([60, 60]),
    ];
    const { recovery } = groupView(object({ history }), JOBSET);
    expect(recovery).toEqual({ completed: 3, medianSeconds: 5, longestSeconds: 9 });
  });

  it("has its account, and whether a restart in it is still open", () => {
    const availability = { state: "Restarting", since: "2026-01-01T00:00:00.000Z", spent: { Running: 5 }, restarts: 1 };
    const view = (last: object) => groupView(object({ availability, history: [record([60, 61], last)] }), JOBSET);
    expect(view({}).account).toMatchObject({ state: "Restarting", spent: { Running: 5 }, restarts: 1, isOpen: true });
    expect(view({ toEpoch: 2 }).account).toMatchObject({ isOpen: false });
  });

  it("shows since when it runs", () => {
    const conditions = [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }];
    expect(groupView(object({ conditions }), JOBSET).recovery.runningSince).toBe("2026-01-01T00:00:00Z");
  });

  it("shows what it waits for, the most specific first, and nothing that is over", () => {
    const conditions = [
      { type: "AtBarrier", status: "True", reason: "Restarting", message: "waiting for every Pod" },
      { type: "Stalled", status: "False", reason: "Lifted", message: "" },
      { type: "WaitingForTermination", status: "True", reason: "NodeLost", message: "", lastTransitionTime: "t" },
    ];
    expect(groupView(object({ conditions }), JOBSET).waitsFor).toEqual([
      { type: "WaitingForTermination", message: "NodeLost", since: "t" },
      { type: "AtBarrier", message: "waiting for every Pod" },
    ]);
  });
});

describe("the details of a group", () => {
  it("has its restarts with their causes and steps, the newest first", () => {
    const history = [record([0, 1, 2, 3, 4], { toEpoch: 2 }), record([60, 61], { fromEpoch: 2, rule: "end-epoch" })];
    expect(groupDetail(object({ history, heldStages: ["late"] }))).toEqual({
      key: "team/train",
      syncedEpoch: 2,
      deprecatedEpoch: 1,
      heldStages: ["late"],
      history: [
        {
          cause: "Pod train-workers-0-1: container main exited with code 3",
          reason: "ContainerExited",
          action: "RestartInPlace",
          rule: "end-epoch",
          fromEpoch: 2,
          counted: true,
          lastWords: "no GPU",
          steps: { failureSeen: 60_000, deprecated: 61_000 },
        },
        expect.objectContaining({ fromEpoch: 1, toEpoch: 2, steps: expect.objectContaining({ allRunning: 4_000 }) }),
      ],
    });
  });
});
