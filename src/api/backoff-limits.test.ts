import { expect, it } from "vitest";
import { backoffLimitOf } from "./backoff-limits.ts";
import { ANNOTATION } from "./names.ts";

it.each([
  ['{"backoffLimits":{"leader":0}}', 0],
  ['{"backoffLimits":{"leader":32000000}}', 32_000_000],
  ['{"backoffLimits":{"workers":0}}', 6],
  ['{"backoffLimits":{"leader":-1}}', 6],
  ['{"backoffLimits":null}', 6],
  ["{", 6],
])("the backoffLimit of leader in the record %s is %i", (record, limit) => {
  expect(backoffLimitOf({ [ANNOTATION.status]: record }, "leader")).toBe(limit);
});

it("without a record the backoffLimit is Kubernetes' default", () => {
  expect(backoffLimitOf({}, "toString")).toBe(6);
});
