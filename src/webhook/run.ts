// Assembles the webhook: cores, HTTPS server, certificate, health checks, and graceful shutdown.
import { once } from "node:events";
import type { Registry } from "prom-client";
import { createHealthServer } from "../process/health.ts";
import { listening, portOf } from "../process/listen.ts";
import type { Logger } from "../telemetry/log.ts";
import { type Cores, createAdmission, type Pending } from "./admission.ts";
import { CertificateWatch } from "./certificate-watch.ts";
import { type DrainTimes, drain } from "./drain.ts";
import { createWebhookMetrics } from "./metrics.ts";
import { createAdmissionServer } from "./server.ts";
import { warmUp } from "./warm-up.ts";

export interface WebhookOptions {
  readonly cores: Cores;
  /** What some requests must wait for; none by default. */
  readonly pending?: Pending;
  readonly certDir: string;
  /** Address to listen on; all IPv4 and IPv6 addresses by default. */
  readonly host?: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly healthPort: number;
  readonly log: Logger;
  readonly registry: Registry;
  readonly drain: DrainTimes;
  readonly certificatePollMs?: number;
}

export interface RunningWebhook {
  readonly port: number;
  readonly healthPort: number;
  /** Drains and stops the webhook. Further calls return the same promise. */
  shutdown(): Promise<void>;
}

/** Starts serving. Without a certificate the webhook is not ready; it is loaded when it appears. */
export async function runWebhook(options: WebhookOptions): Promise<RunningWebhook> {
  // Fastify reads a missing host as "localhost", and an empty one as every address.
  const { log, host = "" } = options;
  const metrics = createWebhookMetrics(options.registry);
  const server = createAdmissionServer(createAdmission(options.cores, metrics, log, options.pending), metrics);
  const certificate = new CertificateWatch({
    directory: options.certDir,
    log,
    metrics,
    onPair(pair) {
      server.useCertificate(pair);
      // Only for the first pair: a renewal does not change compiled code.
      warmingUp ??= warmUp(options.cores, pair)
        .catch((err: unknown) => log.warn({ err }, "warm-up failed, the first requests will be slow"))
        .finally(() => {
          isWarm = true;
        });
    },
    ...(options.certificatePollMs === undefined ? {} : { pollMs: options.certificatePollMs }),
  });
  let ending: Promise<void> | undefined;
  let warmingUp: Promise<void> | undefined;
  let isWarm = false;

  const reasons = (reason: string | undefined) => (reason === undefined ? [] : [reason]);
  const health = createHealthServer(
    {
      alive: () => reasons(certificate.stalled()),
      ready: () => [
        ...reasons(ending && "shutting down"),
        ...reasons(certificate.notReady(new Date())),
        ...reasons(warmingUp === undefined || isWarm ? undefined : "warming up"),
      ],
    },
    options.registry,
  );

  try {
    await certificate.start();
    await warmingUp;
    await listening("admission requests", options.port, server.listen({ host, port: options.port }));
    health.listen({ host, port: options.healthPort });
    await listening("health and metrics", options.healthPort, once(health, "listening"));
  } catch (error) {
    // Leave nothing that keeps the process alive without serving.
    certificate.stop();
    await server.close();
    throw error;
  }
  const port = server.port();
  const healthPort = portOf(health);
  log.info({ port, healthPort }, "serving");

  return {
    port,
    healthPort,
    shutdown() {
      ending ??= end();
      return ending;
    },
  };

  async function end(): Promise<void> {
    log.info({ ...options.drain }, "shutting down, still serving");
    await drain(server, options.drain);
    certificate.stop();
    // Last, so that the readiness probe sees "shutting down" until the end.
    health.close();
    log.info("stopped");
  }
}
