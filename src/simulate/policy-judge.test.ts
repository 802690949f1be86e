import { describe, expect, it } from "vitest";
import type { RestartCause } from "../api/in-place-restart.ts";
import type { FailureRule } from "../api/jobset.ts";
import { PolicyJudge } from "./policy-judge.ts";
import { stored } from "./testing/stored-object.ts";

const RULE: FailureRule = {
  name: "leader",
  action: "FailJobSet",
  targetReplicatedJobs: ["driver"],
  onJobFailureReasons: [],
  onJobFailureMessagePatterns: [],
};
const EXEMPT: FailureRule = { ...RULE, name: "flaky", action: "RestartJobSetAndIgnoreMaxRestarts" };

/** A judge whose time can be set, and what it reported. */
function judgeOf(...rules: readonly FailureRule[]) {
  const stages = ["driver", "workers"].map((name) => ({ name, replicas: 1, parallelism: 1, dependsOn: [] }));
  const policies = { rules, backoffLimits: { driver: 0 } };
  const breaches: string[] = [];
  const time = { now: 0, isSteady: true };
  const judge = new PolicyJudge(
    { stages, inOrder: false, maxRestarts: 3, policies },
    { now: () => time.now, isSteady: () => time.isSteady, breach: (what) => breaches.push(what) },
  );
  return { judge, breaches, time };
}

function restarted(pod: string, change: Partial<RestartCause> = {}, counted = true) {
  const cause = { reason: "ContainerExited", pod, container: "main", exitCode: 1, ...change } as const;
  const record = { cause, action: "RestartInPlace", fromEpoch: 1, toEpoch: 2, counted } as const;
  return stored({ deprecatedEpoch: 1, syncedEpoch: 2, restarts: counted ? 1 : 0, history: [record] });
}

const OPEN = { cause: { reason: "PodRestarted" }, action: "RestartInPlace", fromEpoch: 1, counted: true } as const;

describe("the judge of success", () => {
  it("reports a restart, a count and a failure after the targets have succeeded", () => {
    const { judge, breaches, time } = judgeOf();
    judge.successSeen(true);
    time.now = 101;
    judge.objectWritten(stored({}), stored({ deprecatedEpoch: 1, history: [OPEN] }));
    judge.objectWritten(stored({}), stored({ restarts: 1 }));
    judge.jobSetFailed("ReachedMaxRestarts");
    expect(breaches).toEqual([
      "restarted after the targets had succeeded",
      "counted a restart after the targets had succeeded",
      "failed the JobSet after the targets had succeeded",
    ]);
  });

  it("accepts that a suspension closes the epoch after the targets have succeeded", () => {
    const { judge, breaches, time } = judgeOf();
    judge.successSeen(true);
    time.now = 101;
    judge.objectWritten(stored({}), stored({ deprecatedEpoch: 1 }));
    expect(breaches).toEqual([]);
  });

  it("accepts them while no watch can have shown the success, or after JobSet has recreated the Jobs", () => {
    const { judge, breaches, time } = judgeOf();
    judge.successSeen(true);
    judge.objectWritten(stored({}), stored({ deprecatedEpoch: 1, history: [OPEN] }));
    time.now = 1_000;
    time.isSteady = false;
    judge.jobSetFailed("ReachedMaxRestarts");
    time.isSteady = true;
    judge.successSeen(false);
    judge.jobSetFailed("ReachedMaxRestarts");
    expect(breaches).toEqual([]);
  });
});

describe("the judge of failure rules", () => {
  it("reports a restart after a failure that a rule makes final", () => {
    const { judge, breaches } = judgeOf(RULE);
    judge.objectWritten(stored({}), restarted("train-driver-0-0-abcde"));
    expect(breaches).toEqual(["restarted after the failure of train-driver-0-0-abcde, which rule leader makes final"]);
  });

  it("reports a failure that was counted although a rule exempts it", () => {
    const { judge, breaches } = judgeOf(EXEMPT);
    judge.objectWritten(stored({}), restarted("train-driver-0-0-abcde"));
    expect(breaches).toEqual(["counted the failure of train-driver-0-0-abcde, which rule flaky exempts"]);
  });

  it("reports a JobSet that was failed by a rule that does not exist", () => {
    const { judge, breaches } = judgeOf(EXEMPT);
    judge.jobSetFailed("FailJobSetFailurePolicyAction");
    expect(breaches).toEqual(["failed the JobSet by a rule that does not exist"]);
  });

  it("accepts failures of others, disruptions, and an exempted restart that is not counted", () => {
    const final = judgeOf(RULE);
    final.judge.objectWritten(stored({}), restarted("train-workers-0-0-abcde"));
    final.judge.objectWritten(stored({}), restarted("train-driver-0-0-abcde", { reason: "Disruption" }, false));
    const exempt = judgeOf(EXEMPT);
    exempt.judge.objectWritten(stored({}), restarted("train-driver-0-0-abcde", {}, false));
    expect([...final.breaches, ...exempt.breaches]).toEqual([]);
  });
});
