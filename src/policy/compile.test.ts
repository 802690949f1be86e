import { describe, expect, it } from "vitest";
import {
  FAIL_JOB_SET_RULE,
  failJobCodes,
  failJobSetRule,
  LAST_CODE,
  podFailureRules,
  workerRestartRule,
  workerRestartRules,
} from "./compile.ts";
import { FAILURE_CODES } from "./exit-actions.ts";
import { RESTART_EVERYTHING } from "./exit-codes.ts";

describe("compiled rules", () => {
  it("restart a worker in place on every failure when there are no classes", () => {
    expect(workerRestartRule(RESTART_EVERYTHING)).toEqual({
      action: "RestartAllContainers",
      exitCodes: { operator: "NotIn", values: [0] },
    });
  });

  it("leave the codes of both classes to the Job, in ascending order", () => {
    expect(workerRestartRule({ fail: [40, 137], recreate: [7, 50] })).toMatchObject({
      exitCodes: { values: [0, 7, 40, 50, 137] },
    });
  });

  it("leave the codes of the user's FailJob rules to the Job", () => {
    expect(workerRestartRule({ fail: [40], recreate: [] }, [3, 40])).toMatchObject({
      exitCodes: { operator: "NotIn", values: [0, 3, 40] },
    });
  });

  it("list the codes that restart in place where these are fewer", () => {
    const failing = FAILURE_CODES.filter((code) => code !== 42 && code !== 127);
    expect(workerRestartRule(RESTART_EVERYTHING, failing)).toMatchObject({
      exitCodes: { operator: "In", values: [42, 127] },
    });
  });

  it("leave one code for the restart in place if every code fails the Job", () => {
    expect(workerRestartRule(RESTART_EVERYTHING, FAILURE_CODES)).toMatchObject({
      exitCodes: { operator: "In", values: [LAST_CODE] },
    });
  });

  it("differ between workers whose FailJob rules differ", () => {
    const rules = [{ action: "FailJob", onExitCodes: { containerName: "train", operator: "In", values: [3] } }];
    const compiled = workerRestartRules(RESTART_EVERYTHING, rules, ["train", "log"]);
    expect(compiled.get("train")).toMatchObject({ exitCodes: { values: [0, 3] } });
    expect(compiled.get("log")).toEqual(workerRestartRule(RESTART_EVERYTHING));
  });

  it("are the same before and after the rules of the fail class are added to the Job", () => {
    const policy = { fail: [3, 50], recreate: [60] };
    const own = [
      { action: "Ignore", onExitCodes: { containerName: "train", operator: "In", values: [3] } },
      { action: "FailJob", onExitCodes: { operator: "In", values: [3, 4] } },
    ];
    const plain = workerRestartRules(policy, own, ["train", "log"]);
    const injected = workerRestartRules(
      policy,
      [...own, ...podFailureRules(policy, ["train", "log"])],
      ["train", "log"],
    );
    expect(injected).toEqual(plain);
  });

  it("look at a disruption before the exit code, because a preempted worker also exits", () => {
    const rules = podFailureRules({ fail: [137], recreate: [] }, ["train", "log"]);
    expect(rules.map((rule) => rule["action"])).toEqual(["Ignore", "FailJob", "FailJob"]);
    expect(rules[1]).toEqual({
      action: "FailJob",
      onExitCodes: { containerName: "train", operator: "In", values: [137] },
    });
  });

  it("fail no Job for a recreate code", () => {
    expect(podFailureRules({ fail: [], recreate: [7] }, ["train"])).toEqual([
      { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
    ]);
  });

  it("have a name that JobSet takes", () => {
    expect(FAIL_JOB_SET_RULE).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
    expect(failJobSetRule(["workers"])).toMatchObject({ targetReplicatedJobs: ["workers"] });
    expect(failJobSetRule([])).not.toHaveProperty("targetReplicatedJobs");
  });
});

describe("the codes on which a podFailurePolicy fails the Job", () => {
  const failJob = (onExitCodes: { operator: string; values: number[]; containerName?: string }) => [
    { action: "FailJob", onExitCodes },
  ];

  it.each([
    ["In", failJob({ operator: "In", values: [3, 4] }), [3, 4]],
    ["NotIn", failJob({ operator: "NotIn", values: FAILURE_CODES.slice(2) }), [1, 2]],
    ["In with the name of the container", failJob({ containerName: "train", operator: "In", values: [3] }), [3]],
    ["In with the name of another container", failJob({ containerName: "log", operator: "In", values: [3] }), []],
  ])("with %s", (_form, rules, codes) => {
    expect(failJobCodes(rules, "train")).toEqual(codes);
  });

  it("are those whose first matching rule is FailJob", () => {
    const counted = { action: "Count", onExitCodes: { operator: "In", values: [3] } };
    const condition = { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] };
    const [rule = {}] = failJob({ operator: "In", values: [3, 4] });
    expect(failJobCodes([condition, counted, rule], "train")).toEqual([4]);
    expect(failJobCodes([rule, counted], "train")).toEqual([3, 4]);
  });
});
