// What both webhooks together would say about a new JobSet: a plain one is injected first, one that is injected already is
// judged as it is, because it may be meant for a cluster without the webhook. Pure.
import type { Finding, Verdict } from "../api/admission.ts";
import { type InjectionRequest, inject } from "../inject/inject.ts";
import { isInjected } from "../inject/stored/update.ts";
import { objectAt } from "../json/edit.ts";
import { validate } from "./validate.ts";

export interface Preview {
  readonly verdict: Verdict;
  /** What injection itself warns about. */
  readonly warnings: readonly Finding[];
}

/** Of a JobSet that injection refuses, the rules that can be judged without it are judged, too: all mistakes at once. */
export function preview(request: Omit<InjectionRequest, "operation" | "oldObject">): Preview {
  const created = { ...request, operation: "CREATE" } as const;
  if (isInjected(objectAt(request.object, "spec") ?? {})) return { verdict: validate(created), warnings: [] };
  const outcome = inject(created);
  const object = outcome.kind === "injected" ? outcome.object : request.object;
  return { verdict: validate({ ...created, object }), warnings: outcome.warnings };
}
