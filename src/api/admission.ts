// What the injection and validation cores answer. Plain data: the webhook, the CLI and the metrics all read the same values.
import type { JsonObject } from "../json/types.ts";

/** Why a JobSet was left alone. The same word appears in the response, the metric and the log. */
export type SkipReason =
  | "not-a-jobset"
  | "operation-not-handled"
  | "namespace-not-enabled"
  | "disabled-by-annotation"
  /** The install injects on request only, and this JobSet does not ask. */
  | "not-requested"
  | "no-replicated-jobs"
  | "managed-by-other"
  | "being-deleted"
  | "finished"
  | "created-without-injection"
  /** The cluster lacks what restarting in place needs. */
  | "kubernetes-too-old"
  | "jobset-prunes-fields";

/** An error or a warning about one field of the object. */
export interface Finding {
  /** The rule that made it. Users search the docs for this name. */
  readonly rule: string;
  /** A field path such as spec.replicatedJobs[0].name; empty for the object as a whole. */
  readonly path: string;
  readonly message: string;
}

/** A finding as one line of text, path first. */
export function findingText({ path, message }: Finding): string {
  return path === "" ? message : `${path}: ${message}`;
}

export type InjectionOutcome =
  | { readonly kind: "injected"; readonly object: JsonObject; readonly warnings: readonly Finding[] }
  | { readonly kind: "skipped"; readonly reason: SkipReason; readonly warnings: readonly Finding[] }
  | { readonly kind: "refused"; readonly errors: readonly Finding[]; readonly warnings: readonly Finding[] };

/** One rule's verdict, for `--explain`. */
export type RuleResult =
  | { readonly rule: string; readonly verdict: "pass" | "not-applicable"; readonly reason: string }
  | { readonly rule: string; readonly verdict: "error" | "warning"; readonly findings: readonly Finding[] };

export interface Verdict {
  readonly allowed: boolean;
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
  readonly results: readonly RuleResult[];
}
