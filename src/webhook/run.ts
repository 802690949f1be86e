// Puts the webhook together: cores, HTTPS server, certificate, health, and an orderly end.
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
  /** What some requests have to wait for; left out, none has. */
  readonly pending?: Pending;
  readonly certDir: string;
  /** Address to listen on; all of them, of both families, when left out. */
  readonly host?: string;
  /** 0 picks a free one. */
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
  /** Leaves the Service, answers what still comes, and ends. Calling it again waits for the same end. */
  shutdown(): Promise<void>;
}

/** Starts serving. A certificate that is not there yet keeps it unready; it is picked up when it appears. */
export async function runWebhook(options: WebhookOptions): Promise<RunningWebhook> {
  // Fastify takes a missing host for "localhost", and an empty one as Node takes a missing one: every address.
  const { log, host = "" } = options;
  const metrics = createWebhookMetrics(options.registry);
  const server = createAdmissionServer(createAdmission(options.cores, metrics, log, options.pending), metrics);
  const certificate = new CertificateWatch({
    directory: options.certDir,
    log,
    metrics,
    onPair(pair) {
      server.useCertificate(pair);
      // The first pair only: a renewal changes nothing that is compiled.
      warmingUp ??= warmUp(options.cores, pair)
        .catch((err: unknown) => log.warn({ err }, "could not warm up: the first requests will be slow"))
        .finally(() => {
          isWarm = true;
        });
    },
    ...(options.certificatePollMs === undefined ? {} : { pollMs: options.certificatePollMs }),
  });
  let ending: Promise<void> | undefined;
  let warmingUp: Promise<void> | undefined;
  let isWarm = false;

  const present = (reason: string | undefined) => (reason === undefined ? [] : [reason]);
  const health = createHealthServer(
    {
      alive: () => present(certificate.stalled()),
      ready: () => [
        ...present(ending && "shutting down"),
        ...present(certificate.notReady(new Date())),
        ...present(warmingUp === undefined || isWarm ? undefined : "warming up"),
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
    // Nothing may be left that keeps the process alive without serving.
    certificate.stop();
    await server.close();
    throw error;
  }
  const port = server.port();
  const healthPort = portOf(health);
  log.info({ port, healthPort }, "webhook serving");

  return {
    port,
    healthPort,
    shutdown() {
      ending ??= end();
      return ending;
    },
  };

  async function end(): Promise<void> {
    log.info({ ...options.drain }, "shutting down: no longer ready, still serving");
    await drain(server, options.drain);
    certificate.stop();
    // Last, so that the readiness probe sees "shutting down" to the end.
    health.close();
    log.info("webhook stopped");
  }
}
