// The restart budget of a new JobSet: what its annotation, its Namespace, the config or its own fields say. Pure.
import type { Finding } from "../api/admission.ts";
import {
  annotatedMaxRestarts,
  type Budget,
  budgetText,
  deriveBudget,
  isDerived,
  KUBERNETES_BACKOFF_LIMIT,
  resolveBudget,
} from "../api/budget.ts";
import { ANNOTATION, MAX_INT32 } from "../api/names.ts";
import { type NamespaceLimit, type NamespaceLookup, UNANNOTATED } from "../api/namespace.ts";
import { readWholeNumber } from "../api/whole-number.ts";
import { quoted } from "../json/brief.ts";
import { isObject, listAt, objectAt } from "../json/edit.ts";
import { asCount } from "../json/fields.ts";
import type { Json, JsonObject } from "../json/types.ts";
import type { Participant } from "./participation.ts";
import { findAgent } from "./parts/agent.ts";
import { withoutFailJobSetRule } from "./parts/failure-policy.ts";
import { readTemplate, type Template } from "./parts/template.ts";
import type { InjectionSettings } from "./settings.ts";

interface NewJobSet {
  readonly object: JsonObject;
  readonly namespace: string;
  readonly config: Pick<InjectionSettings, "defaultMaxRestarts">;
  readonly namespaces?: NamespaceLookup;
}

interface NewBudget {
  readonly budget: Budget;
  readonly warnings: readonly Finding[];
}

/** `recorded`: the budget in the record of the object, which was injected before or is a copy of such a JobSet. */
export function budgetOfNew(
  { object, namespace, config, namespaces }: NewJobSet,
  participants: readonly Participant[],
  recorded: Budget | undefined,
): NewBudget {
  const annotation = annotatedMaxRestarts(objectAt(objectAt(object, "metadata"), "annotations"));
  const limit = namespaces?.(namespace) ?? UNANNOTATED;
  const inNamespace = limit.kind === "known" ? readWholeNumber(limit.text ?? "") : readByOthers(recorded);
  const budget = resolveBudget({
    annotation,
    namespace: inNamespace,
    config: config.defaultMaxRestarts,
    derived: derivedBudget(objectAt(object, "spec") ?? {}, participants, recorded),
  });
  // An annotation of the JobSet decides alone, so the Namespace does not matter.
  const isDecided = annotation !== undefined || inNamespace !== undefined;
  return { budget, warnings: isDecided ? [] : namespaceWarnings(namespace, limit, budget) };
}

/** Another replica may have read the Namespace when it injected this JobSet. */
function readByOthers(recorded: Budget | undefined): number | undefined {
  return recorded?.from === "namespace" ? recorded.max : undefined;
}

/**
 * Injection overwrites backoffLimit. In a JobSet that has it already, only the record knows what the user wrote, and
 * without the record the overwritten value counts as not set.
 */
function derivedBudget(spec: JsonObject, participants: readonly Participant[], recorded: Budget | undefined): Budget {
  const jobs = listAt(spec, "replicatedJobs");
  const limits = withJobs(jobs, participants).map(({ index }) => writtenLimit(readTemplate(jobs[index])));
  if (recorded !== undefined && isDerived(recorded) && limits.includes("overwritten")) return recorded;
  const policy = objectAt(withoutFailJobSetRule(spec), "failurePolicy");
  return deriveBudget({
    backoffLimits: limits.map((limit) => (limit === "overwritten" ? undefined : limit)),
    failurePolicy: policy === undefined ? undefined : { maxRestarts: asCount(policy["maxRestarts"]) ?? 0 },
  });
}

/** A replicatedJob without replicas has no Job whose failures could end the JobSet. */
export function withJobs(jobs: readonly Json[], participants: readonly Participant[]): readonly Participant[] {
  const present = participants.filter(({ index }) => {
    const job = jobs[index];
    return !isObject(job) || job["replicas"] !== 0;
  });
  return present.length === 0 ? participants : present;
}

/** How many failures the Job survives as the user wrote it. Undefined if it does not say. */
function writtenLimit(template: Template | undefined): number | "overwritten" | undefined {
  if (template === undefined) return undefined;
  const { job, podSpec } = template;
  if (job["backoffLimit"] === MAX_INT32 && findAgent(podSpec) !== undefined) return "overwritten";
  const backoffLimit = asCount(job["backoffLimit"]);
  const perIndex = asCount(job["backoffLimitPerIndex"]);
  // With a limit for each index, Kubernetes sets none for the whole Job by default.
  if (backoffLimit !== undefined || perIndex === undefined) return backoffLimit;
  return Math.max(perIndex, KUBERNETES_BACKOFF_LIMIT);
}

const RULE = "namespace-budget";

function namespaceWarnings(namespace: string, limit: NamespaceLimit, budget: Budget): Finding[] {
  if (limit.kind === "unavailable") {
    const message =
      `the budget is ${budgetText(budget)}, because ${ANNOTATION.maxRestarts} of Namespace ${namespace} could not be ` +
      `read; if the Namespace has it, set it on the JobSet too: ${limit.reason}`;
    return [{ rule: RULE, path: "", message }];
  }
  if (limit.text === undefined) return [];
  const message =
    `${quoted(limit.text)} in ${ANNOTATION.maxRestarts} of Namespace ${namespace} is not a whole number from 0 to ` +
    `${MAX_INT32} and is ignored, so the budget is ${budgetText(budget)}; correct it on the Namespace`;
  return [{ rule: RULE, path: "", message }];
}
