import { expect, it } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { DRIVER, driverScene, failureRule } from "../testing/scene.ts";
import { countRuleFailures, finalRuleFor, uncountRuleFailures } from "./rule-failures.ts";

function failed(job: string, failures: number, epoch = 0) {
  return { job, failures, epoch };
}

function scene(limit: number) {
  const annotations = { [ANNOTATION.status]: JSON.stringify({ backoffLimits: { driver: limit } }) };
  const failurePolicy = { maxRestarts: 1, restartStrategy: "Recreate", rules: [failureRule()] };
  return driverScene({ annotations, failurePolicy }).fails(DRIVER, "a");
}

it.each([
  [0, 0, true],
  [2, 1, false],
  [2, 2, true],
])("with backoffLimit %i, a failure after %i in earlier epochs is final: %s", (limit, failures, isFinal) => {
  const { group, status } = scene(limit);
  const [loss] = group.losses.values();
  if (group.jobSet === undefined || loss === undefined) throw new Error("the scene has a loss");
  const after = { ...status, ruleFailures: [failed("driver-0", failures), failed("other", 9)] };
  expect(finalRuleFor(group.jobSet, after, loss) !== undefined).toBe(isFinal);
});

it("keeps the Jobs that failed last when there are too many to record", () => {
  const { group, status, now } = scene(9);
  if (group.jobSet === undefined) throw new Error("the scene has a JobSet");
  const many = Array.from({ length: 20 }, (_, index) => failed(`job-${index}`, 1));
  const { ruleFailures = [] } = countRuleFailures(group, group.jobSet, { ...status, ruleFailures: many }, now);
  expect(ruleFailures).toHaveLength(20);
  expect(ruleFailures[0]).toEqual(failed("job-1", 1));
  expect(ruleFailures.at(-1)).toEqual(failed("driver-0", 1, 1));
});

it("takes back the failures of one epoch only", () => {
  const { status } = scene(9);
  const before = { ...status, ruleFailures: [failed("a", 2, 4), failed("b", 1, 5), failed("c", 3, 5)] };
  expect(uncountRuleFailures(before, 5).ruleFailures).toEqual([failed("a", 2, 4), failed("c", 2, 5)]);
  expect(uncountRuleFailures(status, 5)).toBe(status);
});
