// What a plain JobSet has and a group that restarts in place does not: retries beyond the budget, a limit of retries of
// initContainers, and a new deadline for each attempt. Pure. Only injection can tell, because it overwrites the fields.
import type { Finding } from "../api/admission.ts";
import { type Budget, budgetText, isDerived } from "../api/budget.ts";
import { type FailurePolicy, readFailurePolicy } from "../api/jobset.ts";
import { ANNOTATION, MAX_INT32 } from "../api/names.ts";
import { isObject, listAt, textAt } from "../json/edit.ts";
import { asCount } from "../json/fields.ts";
import type { Json, JsonObject } from "../json/types.ts";
import { KUBERNETES_BACKOFF_LIMIT, survivedFailures, withJobs } from "./derive-budget.ts";
import type { Participant } from "./participation.ts";
import { findAgent } from "./parts/agent.ts";
import { containersToRetry } from "./parts/retries.ts";
import { jobPath, podPath } from "./parts/template.ts";

/** One warning for each kind of loss. In a JobSet that is injected already, nothing is left to compare. */
export function lossWarnings(spec: JsonObject, participants: readonly Participant[], budget: Budget): Finding[] {
  const failurePolicy = readFailurePolicy(spec["failurePolicy"]);
  const jobs = withJobs(listAt(spec, "replicatedJobs"), participants);
  const plain = jobs.filter(({ template }) => findAgent(template.podSpec) === undefined);
  return [
    ...once(lostRetries(plain, failurePolicy, budget)),
    ...once(lostLimits(plain, failurePolicy)),
    ...once(lostDeadlines(plain, failurePolicy)),
  ];
}

/**
 * Jobs that survive more failures than the group: the smallest limit of all Jobs decides for the group, unless the
 * Namespace or the config does. A number on the JobSet itself is the user's own choice, and 0 has its own rule.
 */
function lostRetries(
  participants: readonly Participant[],
  failurePolicy: FailurePolicy | undefined,
  budget: Budget,
): Finding[] {
  if (budget.from === "annotation" || (budget.max === 0 && !isDerived(budget))) return [];
  return participants.flatMap(({ index, template }) => {
    const survived = survivedFailures(retriesOf(template.job), failurePolicy?.maxRestarts ?? 0);
    if (survived <= budget.max) return [];
    const message =
      `without reprise this Job survives ${survived} failures, and the group has ${budgetText(budget)}; ` +
      `set ${ANNOTATION.maxRestarts} on the JobSet for more`;
    return [{ rule: "retries", path: `${jobPath(index)}.backoffLimit`, message }];
  });
}

/** Containers that keep OnFailure. In a plain Job each of their restarts counts against backoffLimit. */
function lostLimits(participants: readonly Participant[], failurePolicy: FailurePolicy | undefined): Finding[] {
  return participants.flatMap(({ index, template: { job, podSpec }, workers }) => {
    const retried = containersToRetry(podSpec, new Set(workers));
    const survived = survivedFailures(retriesOf(job), failurePolicy?.maxRestarts ?? 0);
    return ["initContainers", "containers"].flatMap((key) =>
      listAt(podSpec, key).flatMap((container, position) => {
        if (!isObject(container) || !retried.has(textAt(container, "name") ?? "")) return [];
        const message =
          `is retried without a limit; without reprise more than ${survived} failures fail the JobSet; ` +
          "bound the retries in its command, or set its restartPolicy to Never";
        return [{ rule: "endless-retries", path: `${podPath(index)}.${key}[${position}]`, message }];
      }),
    );
  });
}

/** The failures after which the Job controller creates another Pod. */
function retriesOf(job: JsonObject): number {
  const perIndex = asCount(job["backoffLimitPerIndex"]);
  // With a limit for each index, Kubernetes sets none for the whole Job by default.
  const unset = perIndex === undefined ? KUBERNETES_BACKOFF_LIMIT : MAX_INT32;
  return Math.min(asCount(job["backoffLimit"]) ?? unset, perIndex ?? MAX_INT32);
}

/**
 * Job and Pod live on through restarts in place, and so do their deadlines. A plain Job has a new one only if JobSet
 * recreates it, and a plain Pod also if its Job replaces it: with OnFailure the kubelet restarts it as it is.
 */
function lostDeadlines(participants: readonly Participant[], failurePolicy: FailurePolicy | undefined): Finding[] {
  const isRecreated = mayRecreate(failurePolicy);
  return participants.flatMap(({ index, template: { job, podSpec } }) => {
    const isReplaced = podSpec["restartPolicy"] === "Never" && retriesOf(job) > 0;
    return [
      ...(isRecreated ? deadlineOf(job, jobPath(index)) : []),
      ...(isRecreated || isReplaced ? deadlineOf(podSpec, podPath(index)) : []),
    ];
  });
}

function mayRecreate(failurePolicy: FailurePolicy | undefined): boolean {
  if (failurePolicy === undefined) return false;
  return (
    failurePolicy.maxRestarts > 0 ||
    (failurePolicy.rules ?? []).some(({ action }) => action.endsWith("IgnoreMaxRestarts"))
  );
}

function deadlineOf(holder: JsonObject, path: string): Finding[] {
  const written: Json | undefined = holder["activeDeadlineSeconds"];
  if (typeof written !== "number") return [];
  const message = `the ${written} s now span all restarts in place, not one attempt; raise it if attempts take long`;
  return [{ rule: "active-deadline", path: `${path}.activeDeadlineSeconds`, message }];
}

/** A JobSet may have ten thousand replicatedJobs, and one warning is enough. */
function once(findings: readonly Finding[]): Finding[] {
  const [first] = findings;
  if (first === undefined) return [];
  return findings.length === 1
    ? [first]
    : [{ ...first, message: `${first.message} (and ${findings.length - 1} more)` }];
}
