// Between the wire and the pure cores: asks a core, turns its decision into a response, counts and logs it.
// No call to the API server and no side effect on the cluster, so a dry run needs no special path.
import type { Finding, InjectionOutcome, SkipReason, Verdict } from "../api/admission.ts";
import type { PatchOperation } from "../json/patch.ts";
import type { JsonObject } from "../json/types.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Outcome, WebhookMetrics, WebhookName } from "./metrics.ts";
import { type AdmissionResponse, allow, nameOf, refuse } from "./response.ts";
import type { AdmissionRequest } from "./review.ts";

/** A JobSet on its way into the cluster, as the cores see it. They must not change the objects. */
export interface JobSetRequest {
  readonly operation: "CREATE" | "UPDATE";
  readonly namespace: string;
  readonly object: JsonObject;
  readonly oldObject?: JsonObject;
}

/** The decisions behind the two endpoints. Pure functions: same request, same answer. */
export interface Cores {
  inject(request: JobSetRequest): InjectionOutcome;
  /** The operations that turn `before` into `after`; none when they are equal. */
  patch(before: JsonObject, after: JsonObject): readonly PatchOperation[];
  validate(request: JobSetRequest): Verdict;
}

/** What a request must wait for before it can be decided; undefined for nearly every one. */
export type Pending = (request: AdmissionRequest) => Promise<void> | undefined;

export interface Admission {
  mutate(request: AdmissionRequest): AdmissionResponse | Promise<AdmissionResponse>;
  /** Throws only when the validation core has a defect. */
  validate(request: AdmissionRequest): AdmissionResponse;
}

interface Decision {
  readonly response: AdmissionResponse;
  readonly outcome: Outcome;
}

const INTERNAL_ERROR: Finding = {
  rule: "internal-error",
  path: "",
  message: "internal error, this JobSet was not changed and will not restart in place; see the webhook's log",
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
    // Never the object itself: it may be megabytes, and its env may hold secrets.
    const line = { webhook, operation, namespace, name: nameOf(request), uid, dryRun, ...outcome };
    if (defect === undefined) log[isNews(outcome) ? "info" : "debug"](line, "admission");
    else log.error({ ...line, err: defect, stack: stackOf(defect) }, "admission failed");
  };

  const injectNow = (request: AdmissionRequest): AdmissionResponse => {
    try {
      const { response, outcome } = mutate(cores, request);
      record("mutate", request, outcome);
      return response;
    } catch (error) {
      // Injection fails open: a plain JobSet that runs is better than one that a defect of ours keeps out. The
      // warning tells its owner, and /validate still looks at the final state.
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
        // Whether an unchecked JobSet may pass is the operator's choice, and failurePolicy is where it is made: the
        // error goes on to become an HTTP 500, which the API server treats as that field says.
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

/** The request as the cores take it, or why there is nothing for them to decide. */
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

/** At info only what changed something for a user; the rest would be a line for every apply of every JobSet. */
function isNews(outcome: Outcome): boolean {
  if (outcome.outcome === "skipped")
    return outcome.reason === "kubernetes-too-old" || outcome.reason === "jobset-prunes-fields";
  return outcome.outcome === "injected" || outcome.outcome === "refused";
}

/** The log leaves stacks out for those who only run reprise; a defect here is for those who mend it. */
function stackOf(defect: unknown): string | undefined {
  return defect instanceof Error ? defect.stack : undefined;
}
