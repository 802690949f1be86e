import { describe, expect, it } from "vitest";
import { budgetInForce, budgetText, deriveBudget, readBudget, resolveBudget } from "./budget.ts";
import { ANNOTATION, MAX_INT32 } from "./names.ts";

describe("the derived budget", () => {
  it.each([
    ["6 retries of Kubernetes' default", [undefined], undefined, { max: 6, from: "backoffLimit" }],
    ["the user's own limit", [10], undefined, { max: 10, from: "backoffLimit" }],
    ["the smallest limit of the Jobs", [10, undefined, 4], undefined, { max: 4, from: "backoffLimit" }],
    ["a limit of exactly 3", [3], undefined, { max: 3, from: "backoffLimit" }],
    ["recreations alone", [0], 5, { max: 5, from: "maxRestarts" }],
    ["retries in each of the runs", [2], 1, { max: 5, from: "backoffLimit-and-maxRestarts" }],
    ["the default limit in each of the runs", [undefined], 3, { max: 27, from: "backoffLimit-and-maxRestarts" }],
    ["retries with a policy that recreates nothing", [6], 0, { max: 6, from: "backoffLimit" }],
    ["few retries with a policy", [1], 0, { max: 1, from: "backoffLimit" }],
    ["nothing where the user says so twice", [0], 0, { max: 0, from: "backoffLimit-and-maxRestarts" }],
    ["Pathways' limit", [32_000_000], 100, { max: MAX_INT32, from: "backoffLimit-and-maxRestarts" }],
    ["no limit at all", [MAX_INT32], MAX_INT32, { max: MAX_INT32, from: "backoffLimit-and-maxRestarts" }],
  ] as const)("covers %s", (_what, backoffLimits, maxRestarts, budget) => {
    const failurePolicy = maxRestarts === undefined ? undefined : { maxRestarts };
    expect(deriveBudget({ backoffLimits, failurePolicy })).toEqual(budget);
  });

  it.each([0, 1, 2])("is 3 with backoffLimit %i and no failurePolicy: the namespace asks for restarts", (limit) => {
    const budget = deriveBudget({ backoffLimits: [limit], failurePolicy: undefined });
    expect(budget).toEqual({ max: 3, from: "default" });
  });
});

it("the budget comes from the JobSet's annotation, its Namespace, the config and its own fields, in this order", () => {
  const derived = { max: 6, from: "backoffLimit" } as const;
  const none = { annotation: undefined, namespace: undefined, config: undefined, derived };
  expect(resolveBudget(none)).toEqual(derived);
  expect(resolveBudget({ ...none, config: 0 })).toEqual({ max: 0, from: "config" });
  expect(resolveBudget({ ...none, config: 1, namespace: 0 })).toEqual({ max: 0, from: "namespace" });
  expect(resolveBudget({ ...none, config: 1, namespace: 2, annotation: 0 })).toEqual({ max: 0, from: "annotation" });
});

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
