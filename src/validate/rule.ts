// What a rule is, and the few words in which rules answer. A rule looks at one JobSet and nothing else; it never throws,
// whatever is in there, and leaves a field of the wrong type to the API server's schema.
import type { Finding } from "../api/admission.ts";
import type { Subject } from "./subject.ts";

/** A finding before it is known which rule made it. */
export type Problem = Pick<Finding, "path" | "message">;

export type Check =
  | { readonly verdict: "pass" | "not-applicable"; readonly reason: string }
  | { readonly verdict: "found"; readonly problems: readonly Problem[] };

export interface Rule {
  /** Appears in answers, metrics and docs; users search for it, so it does not change. */
  readonly name: string;
  /** One sentence: what must hold, and why. */
  readonly describe: string;
  /** An error refuses the JobSet. What injection accepts and the cluster can run is a warning at most. */
  readonly severity: "error" | "warning";
  /** Most rules are about JobSets that take part; a few also help where one was left out by mistake. */
  readonly scope: "opted-in" | "every-jobset";
  check(subject: Subject): Check;
}

export function notApplicable(reason: string): Check {
  return { verdict: "not-applicable", reason };
}

/** Passes for the reason given when there are no problems. */
export function judged(problems: readonly Problem[], reason: string): Check {
  return problems.length === 0 ? { verdict: "pass", reason } : { verdict: "found", problems };
}
