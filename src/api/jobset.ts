// The fields of a JobSet that decisions need. Pure. For reading only: what is written back is always the raw object, so
// that fields unknown to this version survive.
import { asCount, asList, asMap, asText, type Fields } from "../json/fields.ts";
import {
  type Condition,
  type Identity,
  isTrue,
  readAnnotations,
  readConditions,
  readDeletionTimestamp,
  readIdentity,
  readLabels,
} from "./metadata.ts";
import { JOBSET } from "./names.ts";

export interface Dependency {
  readonly name: string;
  readonly status: "Ready" | "Complete";
}

export interface ReplicatedJob {
  readonly name: string;
  readonly replicas: number;
  /** Pods per Job that run at the same time. */
  readonly parallelism: number;
  /** Absent if the Job does not set it. */
  readonly completions?: number;
  readonly dependsOn: readonly Dependency[];
  /** The raw Job template. */
  readonly template: Fields;
}

/** A rule for a failed Job. An empty list of reasons, patterns or targets matches every one. */
export interface FailureRule {
  readonly name: string;
  readonly action: FailureAction;
  readonly targetReplicatedJobs: readonly string[];
  readonly onJobFailureReasons: readonly string[];
  /** Regular expressions in the syntax of RE2. */
  readonly onJobFailureMessagePatterns: readonly string[];
}

const FAILURE_ACTIONS = [
  "FailJobSet",
  "RestartJobSet",
  "RestartJobSetAndIgnoreMaxRestarts",
  "RestartJob",
  "RestartJobAndIgnoreMaxRestarts",
] as const;
type FailureAction = (typeof FAILURE_ACTIONS)[number];

export interface FailurePolicy {
  readonly maxRestarts: number;
  readonly restartStrategy: string;
  /** The first one that matches a failed Job decides. Absent without rules. */
  readonly rules?: readonly FailureRule[];
}

export interface SuccessPolicy {
  /** Whether all Jobs of the targets must complete, or one of them. */
  readonly operator: "All" | "Any";
  /** Empty: every replicatedJob. */
  readonly targetReplicatedJobs: readonly string[];
}

export interface JobSet extends Identity {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
  readonly managedBy?: string;
  readonly suspended: boolean;
  readonly replicatedJobs: readonly ReplicatedJob[];
  readonly startupOrder: "AnyOrder" | "InOrder";
  /** Without it the JobSet fails at the first failed Job. */
  readonly failurePolicy?: FailurePolicy;
  /** Absent where every Job must complete, which is the default. */
  readonly successPolicy?: SuccessPolicy;
  readonly conditions: readonly Condition[];
  readonly restarts: number;
  readonly restartsCountTowardsMax: number;
  readonly outcome: "Completed" | "Failed" | "none";
}

/** Whether a raw object is a JobSet of any API version. */
export function isJobSet(raw: unknown): boolean {
  const { kind, apiVersion } = asMap(raw);
  return kind === JOBSET.kind && (asText(apiVersion) ?? "").startsWith(`${JOBSET.group}/`);
}

/** Whether JobSet's own controller creates its Jobs, in this cluster. */
export function runsHere({ managedBy }: Pick<JobSet, "managedBy">): boolean {
  return managedBy === undefined || managedBy === JOBSET.controller;
}

export function readJobSet(raw: unknown): JobSet {
  const spec = asMap(asMap(raw)["spec"]);
  const status = asMap(asMap(raw)["status"]);
  const conditions = readConditions(status["conditions"]);
  const deletionTimestamp = readDeletionTimestamp(raw);
  const managedBy = asText(spec["managedBy"]);
  const failurePolicy = readFailurePolicy(spec["failurePolicy"]);
  const successPolicy = readSuccessPolicy(spec["successPolicy"]);
  return {
    ...readIdentity(raw),
    labels: readLabels(raw),
    annotations: readAnnotations(raw),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(managedBy === undefined ? {} : { managedBy }),
    suspended: spec["suspend"] === true,
    replicatedJobs: asList(spec["replicatedJobs"]).map(readReplicatedJob),
    startupOrder: asMap(spec["startupPolicy"])["startupPolicyOrder"] === "InOrder" ? "InOrder" : "AnyOrder",
    ...(failurePolicy === undefined ? {} : { failurePolicy }),
    ...(successPolicy === undefined ? {} : { successPolicy }),
    conditions,
    restarts: asCount(status["restarts"]) ?? 0,
    restartsCountTowardsMax: asCount(status["restartsCountTowardsMax"]) ?? 0,
    outcome: isTrue(conditions, "Completed") ? "Completed" : isTrue(conditions, "Failed") ? "Failed" : "none",
  };
}

function readReplicatedJob(item: unknown): ReplicatedJob {
  const replicatedJob = asMap(item);
  const template = asMap(replicatedJob["template"]);
  const job = asMap(template["spec"]);
  const completions = asCount(job["completions"]);
  return {
    name: asText(replicatedJob["name"]) ?? "",
    // The defaults of the API are one replica and one Pod at a time.
    replicas: asCount(replicatedJob["replicas"]) ?? 1,
    parallelism: asCount(job["parallelism"]) ?? 1,
    ...(completions === undefined ? {} : { completions }),
    dependsOn: asList(replicatedJob["dependsOn"]).flatMap(readDependency),
    template,
  };
}

function readDependency(item: unknown): Dependency[] {
  const dependency = asMap(item);
  const name = asText(dependency["name"]);
  if (name === undefined) return [];
  // Anything but Complete counts as Ready: with a typing error the barrier would never lift.
  return [{ name, status: dependency["status"] === "Complete" ? "Complete" : "Ready" }];
}

export function readFailurePolicy(value: unknown): FailurePolicy | undefined {
  if (value === null || value === undefined) return undefined;
  const policy = asMap(value);
  const rules = asList(policy["rules"]).map(readFailureRule);
  return {
    maxRestarts: asCount(policy["maxRestarts"]) ?? 0,
    restartStrategy: asText(policy["restartStrategy"]) ?? "Recreate",
    ...(rules.length === 0 ? {} : { rules }),
  };
}

function readFailureRule(item: unknown, index: number): FailureRule {
  const rule = asMap(item);
  return {
    // JobSet's default name.
    name: asText(rule["name"]) || `failurePolicyRule${index}`,
    // JobSet's default, also where no rule matches.
    action: FAILURE_ACTIONS.find((action) => action === rule["action"]) ?? "RestartJobSet",
    targetReplicatedJobs: readTexts(rule["targetReplicatedJobs"]),
    onJobFailureReasons: readTexts(rule["onJobFailureReasons"]),
    onJobFailureMessagePatterns: readTexts(rule["onJobFailureMessagePatterns"]),
  };
}

function readSuccessPolicy(value: unknown): SuccessPolicy | undefined {
  const { operator, targetReplicatedJobs } = asMap(value);
  const policy: SuccessPolicy = {
    operator: operator === "Any" ? "Any" : "All",
    targetReplicatedJobs: readTexts(targetReplicatedJobs),
  };
  return policy.operator === "All" && policy.targetReplicatedJobs.length === 0 ? undefined : policy;
}

function readTexts(value: unknown): readonly string[] {
  return asList(value).flatMap((item) => asText(item) ?? []);
}
