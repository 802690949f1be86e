import { describe, expect, it } from "vitest";
import { MAX_INT32 } from "../api/names.ts";
import { budgetFromLimits } from "./derive-budget.ts";

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
    expect(budgetFromLimits({ backoffLimits, failurePolicy })).toEqual(budget);
  });

  it.each([0, 1, 2])("is 3 with backoffLimit %i and no failurePolicy: the namespace asks for restarts", (limit) => {
    const budget = budgetFromLimits({ backoffLimits: [limit], failurePolicy: undefined });
    expect(budget).toEqual({ max: 3, from: "default" });
  });
});
