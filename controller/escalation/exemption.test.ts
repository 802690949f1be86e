import { describe, expect, it } from "vitest";
import { DRIVER, driverScene, FIRST, failTwice, failureRule, type Scene, SECOND } from "../testing/scene.ts";

const EXEMPT = failureRule({ name: "flaky", action: "RestartJobSetAndIgnoreMaxRestarts" });

function recover(scene: Scene): Scene {
  const epoch = scene.status.syncedEpoch + 1;
  const slots = [DRIVER, FIRST, SECOND];
  scene.now = Math.max(scene.now, Date.parse(scene.status.history.at(-1)?.backoffUntil ?? "1970-01-01"));
  return scene
    .at(epoch, ...slots)
    .settle()
    .runs(`run-${epoch}`, ...slots)
    .settle();
}

describe.each(["RestartJobSetAndIgnoreMaxRestarts", "RestartJobAndIgnoreMaxRestarts"] as const)(
  "a failure for which a rule says %s",
  (action) => {
    const start = (maxRestarts: number) => {
      const rules = [{ ...EXEMPT, action, targetReplicatedJobs: ["workers"] }];
      return driverScene({ failurePolicy: { maxRestarts, restartStrategy: "Recreate", rules } });
    };

    it("restarts in place and is not counted, although the budget is spent", () => {
      const scene = recover(start(0).fails(FIRST, "a").settle());
      expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: 0, phase: "Running" });
      expect(scene.notices[0]?.note).toBe(
        `Pod ${FIRST}: container main exited with code 1; ` +
          `not counted as a restart: failurePolicy rule flaky is ${action}`,
      );
    });

    it.each([
      [["BackoffLimitExceeded"], "RecreatePod"],
      [[], "RecreateJobSet"],
    ])("climbs the ladder, and uses no recreation that JobSet would count (reasons %j: %s)", (reasons, last) => {
      const rules = [{ ...EXEMPT, action, onJobFailureReasons: reasons }];
      const scene = failTwice({ failurePolicy: { maxRestarts: 9, restartStrategy: "Recreate", rules } });
      expect(scene.status.history).toMatchObject([
        { action: "RecreatePod", counted: false },
        { action: last, counted: false, streak: { failures: 2 } },
      ]);
    });

    it("does not exempt the others", () => {
      const scene = start(3).fails(DRIVER, "a").settle();
      expect(scene.status.history).toMatchObject([{ action: "RestartInPlace", counted: true }]);
    });
  },
);

it.each(["RestartJobSet", "RestartJob"] as const)("a failure for which a rule says %s is counted", (action) => {
  const failurePolicy = { maxRestarts: 1, restartStrategy: "Recreate", rules: [failureRule({ action })] };
  const scene = recover(driverScene({ failurePolicy }).fails(FIRST, "a").settle());
  expect(scene.status).toMatchObject({ syncedEpoch: 2, restarts: 1 });
});

describe("an exit code that podFailurePolicy ignores", () => {
  const ignore = (operator: string, values: number[], containerName: string | undefined) => {
    const onExitCodes = { operator, values, ...(containerName === undefined ? {} : { containerName }) };
    return { podFailureRules: [{ action: "Ignore", onExitCodes }] };
  };
  const ruleOf = (action: string, code: number) => ({ action, onExitCodes: { operator: "In", values: [code] } });
  const NO_BUDGET = { failurePolicy: { maxRestarts: 0, restartStrategy: "Recreate" } };

  it.each([
    ["In", [42], "main"],
    ["In", [42], undefined],
    ["NotIn", [1], "main"],
  ] as const)("restarts in place, without a count or a streak (%s %j, containerName %s)", (operator, values, name) => {
    const scene = driverScene(NO_BUDGET, ignore(operator, [...values], name))
      .fails(FIRST, "a", 42)
      .settle();
    expect(scene.status.history).toMatchObject([{ action: "RestartInPlace", counted: false }]);
    expect(scene.status.history[0]).not.toHaveProperty("streak");
    expect(recover(scene).status).toMatchObject({ syncedEpoch: 2, restarts: 0 });
    expect(scene.notices[0]?.note).toMatch(/not counted as a restart: podFailurePolicy ignores the exit code$/);
  });

  it.each([
    ["another code", ignore("In", [42], "main"), 1],
    ["another container", ignore("In", [1], "logger"), 1],
    ["a code that an earlier rule counts", { podFailureRules: [ruleOf("Count", 42), ruleOf("Ignore", 42)] }, 42],
    ["a code that a rule fails the index for", { podFailureRules: [ruleOf("FailIndex", 42)] }, 42],
  ])("does not exempt %s", (_, workers, code) => {
    const scene = driverScene({}, workers).fails(FIRST, "a", code).settle();
    expect(scene.status.history).toMatchObject([{ counted: true, streak: { failures: 1 } }]);
  });
});
