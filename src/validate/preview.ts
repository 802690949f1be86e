// What both webhooks together would answer for a new JobSet. Pure.
import type { Finding, InjectionOutcome, Verdict } from "../api/admission.ts";
import { type InjectionRequest, inject } from "../inject/inject.ts";
import { isInjected } from "../inject/stored/is-injected.ts";
import { objectAt } from "../json/edit.ts";
import type { JsonObject } from "../json/types.ts";
import { validate } from "./validate.ts";

export interface Preview {
  readonly outcome: InjectionOutcome;
  /** The JobSet as it would be stored. */
  readonly object: JsonObject;
  readonly verdict: Verdict;
  /** The warnings of injection and of the rules. */
  readonly warnings: readonly Finding[];
}

type NewJobSet = Omit<InjectionRequest, "operation" | "oldObject">;

/**
 * The mutating webhook, then the validating one. If injection rejects the JobSet, the rules that do not need it still
 * run, so that all errors are reported at once.
 */
export function admit(jobSet: NewJobSet): Preview {
  const request = { ...jobSet, operation: "CREATE" } as const;
  const outcome = inject(request);
  const object = outcome.kind === "injected" ? outcome.object : request.object;
  const verdict = validate({ ...request, object });
  return { outcome, object, verdict, warnings: [...outcome.warnings, ...verdict.warnings] };
}

/** What becomes of a new JobSet: one that was injected and breaks a rule is refused. */
export function admitted({ outcome, verdict, warnings }: Preview): InjectionOutcome {
  if (outcome.kind !== "injected" || verdict.allowed) return outcome;
  return { kind: "refused", errors: verdict.errors, warnings };
}

/** Like `admit`, but an injected JobSet is validated as it is: it may be meant for a cluster without our webhooks. */
export function preview(jobSet: NewJobSet): Preview {
  const { object } = jobSet;
  if (!isInjected(objectAt(object, "spec") ?? {})) return admit(jobSet);
  const verdict = validate({ ...jobSet, operation: "CREATE" });
  return { outcome: { kind: "injected", object, warnings: [] }, object, verdict, warnings: verdict.warnings };
}
