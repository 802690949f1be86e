import { describe, expect, it } from "vitest";
import { podFailureRules, workerRestartRule } from "../../src/policy/compile.ts";
import { exitClassesOf, requestedAction } from "./exit-classes.ts";

const POLICY = { fail: [40, 41], recreate: [60] };

function actions(own: readonly unknown[], ownPodRules: readonly unknown[], ...codes: readonly number[]) {
  const container = { name: "main", restartPolicyRules: [...own, workerRestartRule(POLICY)] };
  const rules = [...ownPodRules, ...podFailureRules(POLICY, ["main"])];
  const classes = exitClassesOf(container, { podFailurePolicy: { rules } });
  return codes.map((code) => requestedAction(classes, code));
}

describe("the action that an exit code requests", () => {
  it("follows the rules that injection compiled", () => {
    expect(actions([], [], 0, 1, 40, 41, 60, 255)).toEqual([
      undefined,
      "restart",
      "fail",
      "fail",
      "recreate",
      "restart",
    ]);
  });

  it("is none if a rule of the user restarts only the container", () => {
    const alone = { action: "Restart", exitCodes: { operator: "In", values: [5, 40] } };
    expect(actions([alone], [], 5, 6, 40, 41)).toEqual([undefined, "restart", undefined, "fail"]);
  });

  it("follows the first matching rule of podFailurePolicy", () => {
    const ignored = { action: "Ignore", onExitCodes: { containerName: "main", operator: "In", values: [40] } };
    const elsewhere = { action: "FailJob", onExitCodes: { containerName: "other", operator: "In", values: [60] } };
    expect(actions([], [ignored, elsewhere], 40, 41, 60)).toEqual(["recreate", "fail", "recreate"]);
  });

  it("is to fail for the codes that a rule of the user fails the Job for, with In and with NotIn", () => {
    const container = { name: "main", restartPolicyRules: [workerRestartRule({ fail: [7, 8], recreate: [] })] };
    const classes = (onExitCodes: object) =>
      exitClassesOf(container, { podFailurePolicy: { rules: [{ action: "FailJob", onExitCodes }] } });
    expect(classes({ operator: "In", values: [7] })).toMatchObject({ fail: [7], recreate: [8] });
    expect(classes({ operator: "NotIn", values: [8] })).toMatchObject({ fail: [7], recreate: [8] });
    expect(classes({ containerName: "other", operator: "In", values: [7] })).toMatchObject({ fail: [] });
  });

  it("does not depend on rules for Pod conditions, which only a failed Pod can match", () => {
    const ready = { action: "FailJob", onPodConditions: [{ type: "ConfigIssue", status: "True" }] };
    expect(actions([], [ready], 1, 40)).toEqual(["restart", "fail"]);
  });
});
