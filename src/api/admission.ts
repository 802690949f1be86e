// What the injection and validation cores return. Plain data that the webhook, the CLI and the metrics share.
import type { JsonObject } from "../json/types.ts";

/** Why a JobSet was not injected. The same word appears in the response, the metric and the log. */
export type SkipReason =
  | "not-a-jobset"
  | "operation-not-handled"
  | "namespace-not-enabled"
  | "disabled-by-annotation"
  /** The operator injects on request only, and this JobSet does not request it. */
  | "not-requested"
  | "no-replicated-jobs"
  | "managed-by-other"
  /** Its Pods must match a Workload of Kueue that exists already, as those of MultiKueue's copies. */
  | "prebuilt-workload"
  /** The JobSet carries the agent of JobSet's own in-place restart. */
  | "has-its-own-agent"
  /** None of its replicatedJobs can restart in place. */
  | "all-left-out"
  | "being-deleted"
  | "finished"
  | "created-without-injection"
  /** The cluster does not meet the prerequisites of restarting in place. */
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

/** The field path of an annotation. */
export function annotationPath(key: string): string {
  return `metadata.annotations[${key}]`;
}

/** A finding as one line of text, path first. */
export function findingText({ path, message }: Finding): string {
  return path === "" ? message : `${path}: ${message}`;
}

export type InjectionOutcome =
  | { readonly kind: "injected"; readonly object: JsonObject; readonly warnings: readonly Finding[] }
  | { readonly kind: "skipped"; readonly reason: SkipReason; readonly warnings: readonly Finding[] }
  | { readonly kind: "refused"; readonly errors: readonly Finding[]; readonly warnings: readonly Finding[] };

/** The verdict of one rule, for `--explain`. */
export type RuleResult =
  | { readonly rule: string; readonly verdict: "pass" | "not-applicable"; readonly reason: string }
  | { readonly rule: string; readonly verdict: "error" | "warning"; readonly findings: readonly Finding[] };

export interface Verdict {
  readonly allowed: boolean;
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
  readonly results: readonly RuleResult[];
}
