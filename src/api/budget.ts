// The restart budget: how many counted restarts a group may have before its JobSet fails, and where the number comes
// from. Pure.
import { asCount, asMap } from "../json/fields.ts";
import type { JobSet } from "./jobset.ts";
import { ANNOTATION, MAX_INT32 } from "./names.ts";
import { recordJson } from "./record-json.ts";
import { readWholeNumber } from "./whole-number.ts";

/** The sources, in the words that follow the number: "6 restarts (from backoffLimit)". */
const SOURCE_TEXTS = {
  /** Of the JobSet. */
  annotation: `from ${ANNOTATION.maxRestarts}`,
  namespace: `from ${ANNOTATION.maxRestarts} of the Namespace`,
  config: "from injection.defaultMaxRestarts",
  backoffLimit: "from backoffLimit",
  maxRestarts: "from failurePolicy.maxRestarts",
  "backoffLimit-and-maxRestarts": "from backoffLimit and failurePolicy.maxRestarts",
  default: "the default without a failurePolicy",
} as const;

export type BudgetSource = keyof typeof SOURCE_TEXTS;

export interface Budget {
  readonly max: number;
  readonly from: BudgetSource;
}

/** Without a failurePolicy the user has not decided about restarts, but the label of the namespace asks for them. */
export const LEAST_WITHOUT_POLICY = 3;

/** Whether the budget follows from the fields of the JobSet, and not from a number chosen for it. */
export function isDerived({ from }: Budget): boolean {
  return from !== "annotation" && from !== "namespace" && from !== "config";
}

/** The number in the annotation of a JobSet. Undefined if it is missing or invalid. */
export function annotatedMaxRestarts(annotations: unknown): number | undefined {
  const text = asMap(annotations)[ANNOTATION.maxRestarts];
  return typeof text === "string" ? readWholeNumber(text) : undefined;
}

/**
 * The budget of a JobSet that exists. Its annotation may be edited at any time. If the record is lost, so are the
 * limits that the user wrote: injection replaced them.
 */
export function budgetInForce({ annotations, failurePolicy }: Pick<JobSet, "annotations" | "failurePolicy">): Budget {
  const annotation = annotatedMaxRestarts(annotations);
  if (annotation !== undefined) return { max: annotation, from: "annotation" };
  const recorded = readBudget(recordJson(annotations)?.["budget"]);
  if (recorded !== undefined) return recorded;
  if (failurePolicy === undefined) return { max: LEAST_WITHOUT_POLICY, from: "default" };
  return { max: failurePolicy.maxRestarts, from: "maxRestarts" };
}

/** The budget in a record. */
export function readBudget(value: unknown): Budget | undefined {
  const { max, from } = asMap(value);
  const number = asCount(max);
  return number !== undefined && number <= MAX_INT32 && isSource(from) ? { max: number, from } : undefined;
}

function isSource(value: unknown): value is BudgetSource {
  return typeof value === "string" && Object.hasOwn(SOURCE_TEXTS, value);
}

/** For example "6 restarts (from backoffLimit)". */
export function budgetText({ max, from }: Budget): string {
  return `${max} ${max === 1 ? "restart" : "restarts"} (${sourceText(from)})`;
}

/** For example "from backoffLimit". */
export function sourceText(from: BudgetSource): string {
  return SOURCE_TEXTS[from];
}
