// Health checks and metrics in clear text on a separate port, so that probes and scrapers need no certificate and an
// expired certificate can still be diagnosed.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { Registry } from "prom-client";

/** Reasons for a failing check; none if it passes. */
type Check = () => readonly string[];

export interface HealthChecks {
  /** Problems that a restart of the process would fix. */
  readonly alive: Check;
  /** Problems that keep this replica from serving now. */
  readonly ready: Check;
  /** The text of a passing readiness check; "ok" by default. */
  readonly role?: () => string;
}

export function createHealthServer(checks: HealthChecks, registry: Registry): Server {
  return createServer((request, response) => {
    // Probes and scrapes are rare. A new connection for each leaves no idle ones at shutdown.
    response.setHeader("connection", "close");
    switch (request.url?.split("?", 1)[0]) {
      case "/healthz":
        return answer(response, checks.alive());
      case "/readyz":
        return answer(response, checks.ready(), checks.role?.());
      case "/metrics":
        return void sendMetrics(response, registry);
      default:
        response.writeHead(404).end("not found; use /healthz, /readyz or /metrics\n");
    }
  });
}

function answer(response: ServerResponse, reasons: readonly string[], healthy = "ok"): void {
  response.writeHead(reasons.length === 0 ? 200 : 503, { "content-type": "text/plain; charset=utf-8" });
  response.end(`${reasons.length === 0 ? healthy : reasons.join("\n")}\n`);
}

async function sendMetrics(response: ServerResponse, registry: Registry): Promise<void> {
  try {
    const text = await registry.metrics();
    response.writeHead(200, { "content-type": registry.contentType }).end(text);
  } catch (error) {
    response.writeHead(500).end(`${String(error)}\n`);
  }
}
