import { describe, expect, it } from "vitest";
import type { RestartCause, RestartRecord } from "../api/in-place-restart.ts";
import { FailureOrder } from "./failure-order.ts";
import { playScenario } from "./play.ts";

function record(cause: Partial<RestartCause>): RestartRecord {
  return { cause: { reason: "ContainerExited", ...cause }, action: "RecreatePod", fromEpoch: 2, counted: true };
}

function order(): FailureOrder {
  const failures = new FailureOrder(() => {});
  for (const [uid, epoch] of [
    ["c", 1],
    ["a", 2],
    ["b", 2],
  ] as const)
    failures.failed({ uid, jobSetUid: "js", epoch });
  return failures;
}

describe("the order of failures", () => {
  it.each([
    ["a Pod that failed after another", "b"],
    ["a Pod that did not fail in the epoch", "c"],
  ])("reports that the ladder moves %s", (_, uid) => {
    const failures = order();
    failures.moved(uid, "js", record({ pod: uid }));
    expect(failures.breaches).toEqual([`${uid} was moved, although a failed first in epoch 2`]);
  });

  it("accepts that the ladder moves the Pod that failed first", () => {
    const failures = order();
    failures.moved("a", "js", record({ pod: "a" }));
    expect(failures.breaches).toEqual([]);
  });

  it("forgets earlier failures when epochs begin anew", () => {
    const failures = order();
    failures.beginAnew();
    failures.failed({ uid: "b", jobSetUid: "js", epoch: 2 });
    failures.moved("b", "js", record({ pod: "b" }));
    expect(failures.breaches).toEqual([]);
  });

  it("accepts that all Pods that failed are moved if no Pod is blamed, and reports any other", () => {
    const failures = order();
    for (const uid of ["a", "b"]) failures.moved(uid, "js", record({ candidates: ["a", "b"] }));
    expect(failures.breaches).toEqual([]);
    failures.moved("c", "js", record({ candidates: ["a", "b"] }));
    expect(failures.breaches).toHaveLength(1);
  });
});

describe("a worker that fails again and again, and whose peers exit within 50 ms,", () => {
  // Every failure that a Pod can be blamed for moves that Pod, so that one wrong blame is enough to be found.
  const escalateAfter = 1;
  const faults = Array.from({ length: 10 }, (_, run) => ({ kind: "crash-together", at: (run + 1) * 60_000 }) as const);
  const results = Array.from({ length: 40 }, (_, seed) => ({
    seed,
    ...playScenario({ seed, pods: 4, faults, escalateAfter }),
  }));

  it("is the only one that the ladder moves, whatever order the kubelets report in", () => {
    for (const { seed, breaches } of results) expect({ seed, breaches }).toEqual({ seed, breaches: [] });
    const moved = results.flatMap(({ moments }) => moments.filter(({ what }) => what.startsWith("deletes Pod")));
    expect(moved.length).toBeGreaterThan(10);
  });
});
