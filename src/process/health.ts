// Health and metrics in clear text on a port of their own, so that probes and scrapers need no certificate and an
// expired one can still be seen.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { Registry } from "prom-client";

/** Reasons why a check fails; none when all is well. */
export type Check = () => readonly string[];

export interface HealthChecks {
  /** Something a restart of the process would mend. */
  readonly alive: Check;
  /** Something that keeps this replica from serving now. */
  readonly ready: Check;
  /** What a ready replica says of itself: "ok" when left out. */
  readonly role?: () => string;
}

export function createHealthServer(checks: HealthChecks, registry: Registry): Server {
  return createServer((request, response) => {
    // Probes and scrapes are few: a fresh connection each keeps shutdown free of idle ones.
    response.setHeader("connection", "close");
    switch (request.url?.split("?", 1)[0]) {
      case "/healthz":
        return answer(response, checks.alive());
      case "/readyz":
        return answer(response, checks.ready(), checks.role?.());
      case "/metrics":
        return void sendMetrics(response, registry);
      default:
        response.writeHead(404).end("only /healthz, /readyz and /metrics exist\n");
    }
  });
}

function answer(response: ServerResponse, reasons: readonly string[], well = "ok"): void {
  response.writeHead(reasons.length === 0 ? 200 : 503, { "content-type": "text/plain; charset=utf-8" });
  response.end(`${reasons.length === 0 ? well : reasons.join("\n")}\n`);
}

async function sendMetrics(response: ServerResponse, registry: Registry): Promise<void> {
  try {
    const text = await registry.metrics();
    response.writeHead(200, { "content-type": registry.contentType }).end(text);
  } catch (error) {
    response.writeHead(500).end(`${String(error)}\n`);
  }
}
