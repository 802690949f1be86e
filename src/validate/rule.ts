// What a validation rule is. A rule checks one JobSet and reads nothing else. It never throws, and ignores a field of
// the wrong type: the API server's schema validation rejects it.
import type { Finding } from "../api/admission.ts";
import type { Subject } from "./subject.ts";

/** A finding without its rule. */
export type Problem = Pick<Finding, "path" | "message">;

export type Check =
  | { readonly verdict: "pass" | "not-applicable"; readonly reason: string }
  | { readonly verdict: "found"; readonly problems: readonly Problem[] };

export interface Rule {
  /** Appears in responses, metrics and docs. Users search for it, so it does not change. */
  readonly name: string;
  /** One sentence for the docs: what must hold, and why. */
  readonly describe: string;
  /** An error rejects the JobSet. What injection accepts and the cluster can run is at most a warning. */
  readonly severity: "error" | "warning";
  /** Most rules concern JobSets that opted in. A few also help when a JobSet is left out by mistake. */
  readonly scope: "opted-in" | "every-jobset";
  check(subject: Subject): Check;
}

export function notApplicable(reason: string): Check {
  return { verdict: "not-applicable", reason };
}

/** Passes with the reason when there are no problems. */
export function judged(problems: readonly Problem[], reason: string): Check {
  return problems.length === 0 ? { verdict: "pass", reason } : { verdict: "found", problems };
}
