// What both webhooks together would answer for a new JobSet. Pure. A plain JobSet is injected first. An injected one is
// validated as it is, because it may be meant for a cluster without the mutating webhook.
import type { Finding, Verdict } from "../api/admission.ts";
import { type InjectionRequest, inject } from "../inject/inject.ts";
import { isInjected } from "../inject/stored/is-injected.ts";
import { objectAt } from "../json/edit.ts";
import { validate } from "./validate.ts";

interface Preview {
  readonly verdict: Verdict;
  /** The warnings of injection itself. */
  readonly warnings: readonly Finding[];
}

/**
 * If injection rejects the JobSet, the rules that do not need it still run, so that all errors are reported at once.
 */
export function preview(request: Omit<InjectionRequest, "operation" | "oldObject">): Preview {
  const created = { ...request, operation: "CREATE" } as const;
  if (isInjected(objectAt(request.object, "spec") ?? {})) return { verdict: validate(created), warnings: [] };
  const outcome = inject(created);
  const object = outcome.kind === "injected" ? outcome.object : request.object;
  return { verdict: validate({ ...created, object }), warnings: outcome.warnings };
}
