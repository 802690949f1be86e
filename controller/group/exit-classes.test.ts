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

describe("what an exit code asks for", () => {
  it("is what the rules that injection compiled say", () => {
    expect(actions([], [], 0, 1, 40, 41, 60, 255)).toEqual([
      undefined,
      "restart",
      "fail",
      "fail",
      "recreate",
      "restart",
    ]);
  });

  it("is nobody's business where a rule of the user restarts the container alone", () => {
    const alone = { action: "Restart", exitCodes: { operator: "In", values: [5, 40] } };
    expect(actions([alone], [], 5, 6, 40, 41)).toEqual([undefined, "restart", undefined, "fail"]);
  });

  it("follows the first rule of podFailurePolicy that is about it", () => {
    const ignored = { action: "Ignore", onExitCodes: { containerName: "main", operator: "In", values: [40] } };
    const elsewhere = { action: "FailJob", onExitCodes: { containerName: "other", operator: "In", values: [60] } };
    expect(actions([], [ignored, elsewhere], 40, 41, 60)).toEqual(["recreate", "fail", "recreate"]);
  });
});
