import { expect, it } from "vitest";
import { jobSet } from "../../../test/builders/jobset.ts";
import { annotated, describeRule, findingsOf, SKIPPED } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { restartBudget } from "./restart-budget.ts";

describeRule(restartBudget, {
  accepts: ["a budget above 0", annotated(ANNOTATION.maxRestarts, "1")],
  reports: [
    "a budget of 0",
    annotated(ANNOTATION.maxRestarts, "0"),
    `metadata.annotations[${ANNOTATION.maxRestarts}]`,
    /the first failure fails the JobSet/,
  ],
  ignores: SKIPPED,
});

it("restart-budget reports a JobSet that sets no budget at all: the default is 0", () => {
  const object = jobSet().replicatedJob("workers").build();
  expect(findingsOf(restartBudget, object)).toMatchObject([
    { path: "spec.failurePolicy.maxRestarts", message: expect.stringContaining("is not set, which means 0") },
  ]);
});
