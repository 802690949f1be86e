// Connects the HTTP server with the pure cores: calls a core, builds the response, counts and logs it.
// It never calls the API server and has no side effects on the cluster, so a dry run needs no special handling.
import type { Finding, InjectionOutcome, SkipReason, Verdict } from "../api/admission.ts";
import type { PatchOperation } from "../json/patch.ts";
import type { JsonObject } from "../json/types.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Outcome, WebhookMetrics, WebhookName } from "./metrics.ts";
import { type AdmissionResponse, allow, objectName, refuse } from "./response.ts";
import type { AdmissionRequest } from "./review.ts";

/** An admission request as the cores see it. They must not mutate the objects. */
export interface JobSetRequest {
  readonly operation: "CREATE" | "UPDATE";
  readonly namespace: string;
  readonly object: JsonObject;
  readonly oldObject?: JsonObject;
}

/** The pure functions behind the two endpoints. */
export interface Cores {
  inject(request: JobSetRequest): InjectionOutcome;
  /** The operations that turn `before` into `after`. Empty if they are equal. */
  patch(before: JsonObject, after: JsonObject): readonly PatchOperation[];
  validate(request: JobSetRequest): Verdict;
}

/** What a request must wait for. Undefined for nearly every request. */
export type Pending = (request: AdmissionRequest) => Promise<void> | undefined;

export interface Admission {
  mutate(request: AdmissionRequest): AdmissionResponse | Promise<AdmissionResponse>;
  /** Throws only if the validation core has a bug. */
  validate(request: AdmissionRequest): AdmissionResponse;
}

interface Decision {
  readonly response: AdmissionResponse;
  readonly outcome: Outcome;
}

const INTERNAL_ERROR: Finding = {
  rule: "internal-error",
  path: "",
  message: "internal error: this JobSet was not injected and will not restart in place; see the log of the webhook",
};

export function createAdmission(
  cores: Cores,
  metrics: WebhookMetrics,
  log: Logger,
  pending: Pending = () => undefined,
): Admission {
  const record = (webhook: WebhookName, request: AdmissionRequest, outcome: Outcome, defect?: unknown) => {
    metrics.answered(webhook, request.operation, outcome);
    const { uid, operation, namespace, dryRun } = request;
    // Never log the object: it may have megabytes, and its env may contain secrets.
    const line = { webhook, operation, namespace, name: objectName(request), uid, dryRun, ...outcome };
    if (defect === undefined) log[hasEffect(outcome) ? "info" : "debug"](line, "admission");
    else log.error({ ...line, err: defect, stack: stackOf(defect) }, "admission failed");
  };

  const injectNow = (request: AdmissionRequest): AdmissionResponse => {
    try {
      const { response, outcome } = mutate(cores, request);
      record("mutate", request, outcome);
      return response;
    } catch (error) {
      // Injection fails open: a bug in reprise must not block a training job. The user gets a warning, and /validate
      // still checks the final state.
      record("mutate", request, { outcome: "failed" }, error);
      return allow(request, { outcome: "failed" }, [INTERNAL_ERROR]);
    }
  };

  return {
    mutate: (request) => pending(request)?.then(() => injectNow(request)) ?? injectNow(request),
    validate(request) {
      try {
        const { response, outcome } = validate(cores, request);
        record("validate", request, outcome);
        return response;
      } catch (error) {
        // The operator decides with failurePolicy whether an unchecked JobSet is allowed: the error becomes an HTTP
        // 500, which the API server handles according to that field.
        record("validate", request, { outcome: "failed" }, error);
        throw error;
      }
    },
  };
}

function mutate(cores: Cores, request: AdmissionRequest): Decision {
  const jobSet = jobSetRequest(request);
  if (typeof jobSet === "string") return skip(request, jobSet, []);
  const decided = cores.inject(jobSet);
  switch (decided.kind) {
    case "skipped":
      return skip(request, decided.reason, decided.warnings);
    case "refused":
      return { response: refuse(request, decided.errors, decided.warnings), outcome: { outcome: "refused" } };
    case "injected": {
      const patch = cores.patch(jobSet.object, decided.object);
      const outcome = patch.length === 0 ? "unchanged" : "injected";
      return { response: allow(request, { outcome }, decided.warnings, patch), outcome: { outcome } };
    }
  }
}

function validate(cores: Cores, request: AdmissionRequest): Decision {
  const jobSet = jobSetRequest(request);
  if (typeof jobSet === "string") return skip(request, jobSet, []);
  const verdict = cores.validate(jobSet);
  return verdict.allowed
    ? { response: allow(request, { outcome: "allowed" }, verdict.warnings), outcome: { outcome: "allowed" } }
    : { response: refuse(request, verdict.errors, verdict.warnings), outcome: { outcome: "refused" } };
}

/** The request for the cores, or the reason to skip it. */
function jobSetRequest(request: AdmissionRequest): JobSetRequest | SkipReason {
  const { operation, namespace, object, oldObject } = request;
  if (operation !== "CREATE" && operation !== "UPDATE") return "operation-not-handled";
  if (object === undefined) return "not-a-jobset";
  return { operation, namespace, object, ...(oldObject === undefined ? {} : { oldObject }) };
}

function skip(request: AdmissionRequest, reason: SkipReason, warnings: readonly Finding[]): Decision {
  return {
    response: allow(request, { outcome: "skipped", "skip-reason": reason }, warnings),
    outcome: { outcome: "skipped", reason },
  };
}

/** The namespace asked for injection, and the JobSet itself said nothing against it. */
const UNEXPECTED_SKIPS: ReadonlySet<SkipReason> = new Set([
  "kubernetes-too-old",
  "jobset-prunes-fields",
  "has-its-own-agent",
  "all-left-out",
]);

/** Logged at info: what has an effect for the user. The rest would be a line for every apply of every JobSet. */
function hasEffect(outcome: Outcome): boolean {
  if (outcome.outcome === "skipped") return UNEXPECTED_SKIPS.has(outcome.reason);
  return outcome.outcome === "injected" || outcome.outcome === "refused";
}

/** Users of reprise do not need stack traces, but this is a bug that its developers have to fix. */
function stackOf(defect: unknown): string | undefined {
  return defect instanceof Error ? defect.stack : undefined;
}
