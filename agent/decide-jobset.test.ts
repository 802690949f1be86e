import { describe, expect, it } from "vitest";
import { decide, type GroupView, newAgent } from "./decide.ts";
import { viewJobSet } from "./decide-jobset.ts";

const identity = { jobSetUid: "uid-1", replicatedJob: "workers" };

function jobSet(status?: object, metadata: object = {}, restartStrategy = "InPlaceRestart") {
  return { metadata: { uid: "uid-1", ...metadata }, spec: { failurePolicy: { restartStrategy } }, status };
}

function view(raw: unknown): GroupView {
  return viewJobSet(raw, identity);
}

describe("the JobSet in upstream's protocol", () => {
  it("gives the first attempt, 0, while there is no current one", () => {
    expect(decide(newAgent(identity), view(jobSet()))).toEqual({ kind: "take", epoch: 0 });
    expect(decide(newAgent(identity), view(jobSet({ restarts: 0 })))).toEqual({ kind: "take", epoch: 0 });
  });

  it("gives the attempt after the current one", () => {
    expect(decide(newAgent(identity), view(jobSet({ currentInPlaceRestartAttempt: 0 })))).toEqual({
      kind: "take",
      epoch: 1,
    });
  });

  it.each<[string, object, string]>([
    ["stays at the barrier while no attempt is current", {}, "wait"],
    ["lifts at attempt 0", { currentInPlaceRestartAttempt: 0 }, "lift"],
    ["restarts", { currentInPlaceRestartAttempt: 0, previousInPlaceRestartAttempt: 0 }, "restart"],
    ["does not restart for an absent previous attempt", { currentInPlaceRestartAttempt: 1 }, "wait"],
  ])("an agent at attempt 0 %s", (_behavior, status, kind) => {
    expect(decide({ ...newAgent(identity), epoch: 0, published: true }, view(jobSet(status)))).toEqual({ kind });
  });

  it.each<[string, unknown, GroupView["kind"]]>([
    ["is absent when there is none", undefined, "absent"],
    ["is foreign when its UID differs", jobSet({}, { uid: "uid-2" }), "foreign"],
    ["is not initialized when an attempt is negative", jobSet({ currentInPlaceRestartAttempt: -1 }), "uninitialized"],
    ["is not initialized when an attempt is text", jobSet({ previousInPlaceRestartAttempt: "0" }), "uninitialized"],
    ["does not take part with another strategy", jobSet({}, {}, "Recreate"), "released"],
    [
      "does not take part when it is disabled, whatever the value",
      jobSet({}, { annotations: { "jobset.sigs.k8s.io/disable-in-place-restart": "false" } }),
      "released",
    ],
  ])("%s", (_behavior, raw, kind) => {
    expect(view(raw)).toEqual({ kind });
  });
});
