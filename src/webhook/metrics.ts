// The webhook's metrics. Every label value comes from a fixed list, so users cannot grow the number of series. All
// series exist from the start, so that a rate sees the first failure.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { SkipReason } from "../api/admission.ts";
import type { Operation } from "./review.ts";

export type WebhookName = "mutate" | "validate";

/** Why a request could not be read. */
export type UnreadableReason = "content-type" | "too-large" | "truncated" | "not-json" | "not-a-review";

/** The outcome of one request. `failed` is a bug in reprise; all others are responses. */
export type Outcome =
  | { readonly outcome: "injected" | "unchanged" | "allowed" | "refused" | "failed" }
  | { readonly outcome: "skipped"; readonly reason: SkipReason }
  | { readonly outcome: "unreadable"; readonly reason: UnreadableReason };

export interface WebhookMetrics {
  answered(webhook: WebhookName, operation: Operation | "unknown", outcome: Outcome): void;
  /** Starts the timer of one request; the returned function stops it. */
  started(webhook: WebhookName): () => void;
  certificateLoaded(notAfter: Date): void;
  certificateRejected(): void;
}

const SKIP_REASONS: Readonly<Record<SkipReason, true>> = {
  "not-a-jobset": true,
  "operation-not-handled": true,
  "namespace-not-enabled": true,
  "disabled-by-annotation": true,
  "not-requested": true,
  "no-replicated-jobs": true,
  "managed-by-other": true,
  "prebuilt-workload": true,
  "has-its-own-agent": true,
  "all-left-out": true,
  "being-deleted": true,
  finished: true,
  "created-without-injection": true,
  "kubernetes-too-old": true,
  "jobset-prunes-fields": true,
};

const UNREADABLE_REASONS: Readonly<Record<UnreadableReason, true>> = {
  "content-type": true,
  "too-large": true,
  truncated: true,
  "not-json": true,
  "not-a-review": true,
};

const OUTCOMES: Readonly<Record<WebhookName, readonly Outcome["outcome"][]>> = {
  mutate: ["injected", "unchanged", "refused", "failed"],
  validate: ["allowed", "refused", "failed"],
};

/** Most responses take less than 1 ms; 10 ms is the goal; the API server gives up after 5 s. */
const LATENCY_BUCKETS_SECONDS = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5];

export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: "reprise_webhook_requests_total",
    help: "Admission requests answered, by outcome and, if there is one, reason.",
    labelNames: ["webhook", "operation", "outcome", "reason"] as const,
    registers,
  });
  const duration = new Histogram({
    name: "reprise_webhook_request_duration_seconds",
    help: "Time from the headers of a request to the end of its response.",
    labelNames: ["webhook"] as const,
    buckets: LATENCY_BUCKETS_SECONDS,
    registers,
  });
  const inFlight = new Gauge({
    name: "reprise_webhook_requests_in_flight",
    help: "Admission requests being served.",
    registers,
  });
  const expiry = new Gauge({
    name: "reprise_webhook_certificate_expiry_timestamp_seconds",
    help: "Unix time at which the serving certificate expires; 0 if there is none.",
    registers,
  });
  const loads = new Counter({
    name: "reprise_webhook_certificate_loads_total",
    help: "Certificate pairs found on disk, by result: loaded or rejected.",
    labelNames: ["result"] as const,
    registers,
  });

  const count = (webhook: WebhookName, operation: string, outcome: string, reason: string) =>
    requests.labels({ webhook, operation, outcome, reason });
  for (const webhook of ["mutate", "validate"] as const) {
    duration.zero({ webhook });
    for (const reason of Object.keys(UNREADABLE_REASONS)) count(webhook, "unknown", "unreadable", reason).inc(0);
    for (const operation of ["CREATE", "UPDATE"]) {
      for (const outcome of OUTCOMES[webhook]) count(webhook, operation, outcome, "").inc(0);
      for (const reason of Object.keys(SKIP_REASONS)) count(webhook, operation, "skipped", reason).inc(0);
    }
  }
  for (const result of ["loaded", "rejected"]) loads.labels({ result }).inc(0);

  return {
    answered(webhook, operation, outcome) {
      count(webhook, operation, outcome.outcome, "reason" in outcome ? outcome.reason : "").inc();
    },
    started(webhook) {
      inFlight.inc();
      const stop = duration.startTimer({ webhook });
      return () => {
        inFlight.dec();
        stop();
      };
    },
    certificateLoaded(notAfter) {
      expiry.set(notAfter.getTime() / 1000);
      loads.labels({ result: "loaded" }).inc();
    },
    certificateRejected() {
      loads.labels({ result: "rejected" }).inc();
    },
  };
}
