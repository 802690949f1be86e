// What `reprise explain` says about a JobSet: why it is injected or not, what each exit code does, and what happens in
// the usual failures. Pure: everything follows from the JobSet and the record that injection wrote.
import { findingText, type InjectionOutcome, type SkipReason } from "../../api/admission.ts";
import { budgetInForce, budgetText } from "../../api/budget.ts";
import { formatDuration } from "../../api/duration.ts";
import { type JobSet, readJobSet } from "../../api/jobset.ts";
import { ANNOTATION, KUEUE, LABEL } from "../../api/names.ts";
import { protocolOf } from "../../api/protocol.ts";
import { recordJson } from "../../api/record-json.ts";
import type { RestartPolicy } from "../../api/restart-policy.ts";
import { readWholeNumber } from "../../api/whole-number.ts";
import { asText } from "../../json/fields.ts";
import type { JsonObject } from "../../json/types.ts";
import { effectOf, exitEffects } from "./effect.ts";

export interface Explanation {
  readonly title: string;
  readonly lines: readonly string[];
}

/** The settings of the controller that matter here. */
export interface ExplainSettings {
  readonly policy: RestartPolicy;
  readonly stuckPods: { readonly enabled: boolean; readonly threshold: number };
}

const SKIP_TEXTS: Readonly<Record<SkipReason, string>> = {
  "not-a-jobset": "it is not a JobSet",
  "operation-not-handled": "the webhook does not handle this operation",
  "namespace-not-enabled": `its namespace is never injected, or has no label ${LABEL.injection}=enabled`,
  "disabled-by-annotation": `it has the annotation ${ANNOTATION.inject}: "false"`,
  "not-requested": `injection.default is disabled, and it has no annotation ${ANNOTATION.inject}: "true"`,
  "no-replicated-jobs": "it has no replicatedJobs",
  "managed-by-other": "spec.managedBy names another controller",
  "prebuilt-workload": "its Pods must match a Workload of Kueue that exists already",
  "has-its-own-agent": "it carries the agent of JobSet's own in-place restart",
  "all-left-out": "none of its replicatedJobs can restart in place",
  "being-deleted": "it is being deleted",
  finished: "it has finished",
  "created-without-injection": "it was created without injection, and nothing is injected later",
  "kubernetes-too-old": "Kubernetes is too old",
  "jobset-prunes-fields": "the CRD of JobSet drops the fields",
};

/** A JobSet as it is stored, or as it would be after injection. */
export function explainInjected(object: JsonObject, settings: ExplainSettings): readonly Explanation[] {
  const jobSet = readJobSet(object);
  const version = asText(recordJson(jobSet.annotations)?.["version"]);
  const by = version === undefined ? "" : ` by reprise ${version}`;
  const first = { title: "Injection", lines: [`injected${by}: ${effectOf(object, [])}`] };
  if (protocolOf(jobSet) === "jobset") {
    const line = "restartStrategy is InPlaceRestart: JobSet's own controller decides about restarts and counts them";
    return [first, { title: "Restarts", lines: [line] }];
  }
  return [
    first,
    { title: "When a worker exits", lines: exitLines(jobSet) },
    { title: "When it fails again and again", lines: repeatLines(jobSet, settings.policy) },
    { title: "When a node is lost", lines: nodeLines(jobSet, settings) },
    { title: "When it hangs", lines: [`nothing restarts it; restart it by hand: ${restartCommand(jobSet)}`] },
  ];
}

/** A plain JobSet: what injection would make of it. */
export function explainOutcome(outcome: InjectionOutcome, settings: ExplainSettings): readonly Explanation[] {
  if (outcome.kind === "injected") return explainInjected(outcome.object, settings);
  if (outcome.kind === "refused")
    return [{ title: "Injection", lines: ["refused:", ...outcome.errors.map((error) => `  ${findingText(error)}`)] }];
  const warnings = outcome.warnings.map((warning) => `  ${findingText(warning)}`);
  const line = `not injected: ${SKIP_TEXTS[outcome.reason]} (${outcome.reason})`;
  return [{ title: "Injection", lines: [line, ...warnings] }];
}

/** A plain JobSet of a cluster, with what its creation again would change. */
export function explainPlain(outcome: InjectionOutcome, isOptedIn: boolean, settings: ExplainSettings) {
  if (!isOptedIn) return explainOutcome({ kind: "skipped", reason: "namespace-not-enabled", warnings: [] }, settings);
  if (outcome.kind !== "injected") return explainOutcome(outcome, settings);
  const now = `not injected: ${SKIP_TEXTS["created-without-injection"]}; delete it and apply it again`;
  const [first, ...rest] = explainInjected(outcome.object, settings);
  return [{ title: "Injection", lines: [now, ...(first?.lines ?? []).map((line) => `then: ${line}`)] }, ...rest];
}

function exitLines(jobSet: JobSet): readonly string[] {
  const exceptions = exitEffects(jobSet).map(({ codes, effect }) => `exit ${codes}: ${effect}`);
  const budget = budgetText(budgetInForce(jobSet));
  return [
    "exit 0: the worker has succeeded",
    ...exceptions,
    `any other code: all workers restart in place, in the same Pods; counted, within ${budget}`,
    partialSuccess(jobSet),
  ];
}

function partialSuccess({ annotations }: JobSet): string {
  return annotations[ANNOTATION.onPartialSuccess] === "continue"
    ? "after other Pods of its replicatedJob have succeeded: the rest restarts in place"
    : "after other Pods of its replicatedJob have succeeded: JobSet recreates all Jobs, if it has a restart left";
}

function repeatLines({ annotations }: JobSet, { escalateAfter, progressAfter, backoff }: RestartPolicy): string[] {
  const after = readWholeNumber(annotations[ANNOTATION.escalateAfter] ?? "") ?? escalateAfter;
  const progress = formatDuration(progressAfter);
  const replaced =
    after === 0
      ? "the same Pod is never replaced for it"
      : `failure ${after} of the same Pod in a row replaces the Pod, and then JobSet recreates all Jobs`;
  const held = `the barrier is held for ${formatDuration(backoff.first)}`;
  return [
    `${replaced}; a run of ${progress} ends the row`,
    `from restart ${backoff.after + 1} in a row on, ${held}, doubled each time up to ${formatDuration(backoff.max)}`,
    "beyond the budget, the JobSet fails",
  ];
}

/** Kubernetes' default for tolerationSeconds of an unreachable node. */
const DEFAULT_GRACE = "300s";

function nodeLines({ annotations }: JobSet, { stuckPods }: ExplainSettings): readonly string[] {
  const grace = annotations[ANNOTATION.nodeLossGrace] ?? DEFAULT_GRACE;
  const keys = [ANNOTATION.safeToForcefullyDelete, KUEUE.safeToForcefullyTerminate, KUEUE.safeToForcefullyDelete];
  const mayForce = keys.some((key) => annotations[key] === "true");
  const freed = mayForce
    ? stuckPods.enabled
      ? `the controller deletes them by force ${formatDuration(stuckPods.threshold)} after their grace period`
      : "they allow their forced deletion, but stuckPods.enabled is false"
    : `they stay until the node is back or deleted, and the group waits; ${ANNOTATION.safeToForcefullyDelete}: ` +
      '"true" lets the controller delete them by force';
  return [
    `its Pods are evicted ${grace} after the node is unreachable`,
    freed,
    "the others restart in place, not counted",
  ];
}

function restartCommand({ name, namespace }: JobSet): string {
  const within = namespace === "" ? "" : ` -n ${namespace}`;
  return `reprise restart ${name}${within} --reason "..."`;
}

export function explanationText(title: string, sections: readonly Explanation[]): string {
  const lines = sections.flatMap(({ title: head, lines: body }) => ["", head, ...body.map((line) => `  ${line}`)]);
  return [title, ...lines].map((line) => `${line}\n`).join("");
}
