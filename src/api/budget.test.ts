import { describe, expect, it } from "vitest";
import { budgetInForce, budgetText, readBudget } from "./budget.ts";
import { ANNOTATION, MAX_INT32 } from "./names.ts";

describe("the budget in force", () => {
  const recorded = (budget: unknown) => ({ [ANNOTATION.status]: JSON.stringify({ version: "1", budget }) });
  const failurePolicy = { maxRestarts: 2, restartStrategy: "Recreate" };

  it("is the recorded one, whatever the failurePolicy says", () => {
    const budget = { max: 20, from: "backoffLimit-and-maxRestarts" };
    expect(budgetInForce({ annotations: recorded(budget), failurePolicy })).toEqual(budget);
  });

  it("is that of an annotation edited later", () => {
    const annotations = { ...recorded({ max: 20, from: "annotation" }), [ANNOTATION.maxRestarts]: "30" };
    expect(budgetInForce({ annotations, failurePolicy })).toEqual({ max: 30, from: "annotation" });
  });

  it.each([
    ["no record", {}],
    ["a record that is not JSON", { [ANNOTATION.status]: "{" }],
    ["a record of another shape", { [ANNOTATION.status]: "[1]" }],
    ["a record without a budget", { [ANNOTATION.status]: "{}" }],
    ["a negative number", recorded({ max: -1, from: "default" })],
    ["a number as text", recorded({ max: "6", from: "default" })],
    ["a number beyond int32", recorded({ max: MAX_INT32 + 1, from: "default" })],
    ["a source that does not exist", recorded({ max: 6, from: "toString" })],
    ["no source", recorded({ max: 6 })],
  ])("is failurePolicy.maxRestarts with %s, and at least 3 without a failurePolicy", (_what, annotations) => {
    expect(budgetInForce({ annotations, failurePolicy })).toEqual({ max: 2, from: "maxRestarts" });
    expect(budgetInForce({ annotations })).toEqual({ max: 3, from: "default" });
  });
});

it("a budget is read back as it was recorded", () => {
  expect(readBudget({ max: 0, from: "config" })).toEqual({ max: 0, from: "config" });
});

it.each([
  [{ max: 6, from: "backoffLimit" }, "6 restarts (from backoffLimit)"],
  [{ max: 1, from: "namespace" }, "1 restart (from reprise.dev/max-restarts of the Namespace)"],
  [{ max: 3, from: "default" }, "3 restarts (the default without a failurePolicy)"],
] as const)("people read the budget %j as: %s", (budget, text) => {
  expect(budgetText(budget)).toBe(text);
});
