import { expect, it } from "vitest";
import { settings } from "../../../test/builders/injection.ts";
import { jobSet } from "../../../test/builders/jobset.ts";
import { annotated, describeRule, SKIPPED } from "../../../test/builders/rule-examples.ts";
import type { RuleResult } from "../../api/admission.ts";
import { ANNOTATION } from "../../api/names.ts";
import type { JsonObject } from "../../json/types.ts";
import { validate } from "../validate.ts";
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

/** The verdict for a JobSet with these limits. */
function resultOf(backoffLimit: number | undefined, failurePolicy: JsonObject | undefined, limit?: string): RuleResult {
  const builder = failurePolicy === undefined ? jobSet() : jobSet().spec({ failurePolicy });
  const object = builder.replicatedJob("workers", { pods: 2, job: backoffLimit === undefined ? {} : { backoffLimit } });
  const namespaces = () => ({ kind: "known", text: limit }) as const;
  const request = { operation: "CREATE", namespace: "team", object: object.build(), config: settings } as const;
  const result = validate({ ...request, namespaces }).results.find(({ rule }) => rule === restartBudget.name);
  if (result === undefined) throw new Error("no result of the rule");
  return result;
}

it.each([
  [undefined, undefined, undefined, "6 restarts (from backoffLimit)"],
  [0, undefined, undefined, "3 restarts (the default without a failurePolicy)"],
  [0, { maxRestarts: 1 }, undefined, "1 restart (from failurePolicy.maxRestarts)"],
  [0, { maxRestarts: 1 }, "9", "9 restarts (from reprise.dev/max-restarts of the Namespace)"],
])(
  "restart-budget says number and source: backoffLimit %j, failurePolicy %j, Namespace %j",
  (b, policy, limit, text) => {
    expect(resultOf(b, policy, limit)).toMatchObject({ verdict: "pass", reason: text });
  },
);

it("restart-budget accepts a budget of 0 that the fields of the JobSet say: without reprise it is the same", () => {
  expect(resultOf(0, { maxRestarts: 0 })).toMatchObject({
    verdict: "pass",
    reason: "0 restarts (from backoffLimit and failurePolicy.maxRestarts)",
  });
});

it("restart-budget reports a budget of 0 of the Namespace", () => {
  expect(resultOf(undefined, undefined, "0")).toMatchObject({
    findings: [{ path: "", message: expect.stringMatching(/^reprise\.dev\/max-restarts of the Namespace is 0: /) }],
  });
});

it("restart-budget does not apply to JobSet's own protocol, whose controller counts", () => {
  expect(resultOf(6, { restartStrategy: "InPlaceRestart", maxRestarts: 0 })).toMatchObject({
    verdict: "not-applicable",
  });
});

it("restart-budget does not apply to a JobSet that injection refuses: it has no budget", () => {
  const object = jobSet().annotation(ANNOTATION.failExitCodes, "0").replicatedJob("workers").build();
  const { results } = validate({ operation: "CREATE", namespace: "team", object, config: settings });
  expect(results.find(({ rule }) => rule === restartBudget.name)).toMatchObject({ verdict: "not-applicable" });
});
