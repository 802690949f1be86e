// The HTTPS server of the two admission endpoints. It handles HTTP and TLS and knows nothing about JobSets. HTTP/1.1
// only: the API server uses nothing else for a webhook behind a Service, so that calls spread over the replicas.
import type { IncomingMessage } from "node:http";
import type { Server } from "node:https";
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { portOf } from "../process/listen.ts";
import type { Admission } from "./admission.ts";
import { BODY_LIMIT_BYTES, readBody, UnreadableBody } from "./body.ts";
import type { ServingPair } from "./certificate.ts";
import type { WebhookMetrics, WebhookName } from "./metrics.ts";
import { type AdmissionResponse, reviewOf, unreadable } from "./response.ts";
import { parseReview } from "./review.ts";

/**
 * The API server closes a connection after 90 s without use. A server that closes first may race with a request, and a
 * POST is not retried. Node also counts the time before the first request of a connection as waiting for headers, and
 * the API server pools unused connections, so all three timeouts are above 90 s.
 */
const CONNECTION_TIMEOUT_MS = 120_000;

/** How long requests in flight may take once the server closes; the API server waits 5 s. */
const LAST_REQUESTS_MS = 5_000;

const NOT_JSON = "expected an AdmissionReview with content type application/json";

const JSON_TYPE = "application/json; charset=utf-8";

export interface AdmissionServer {
  /** TLS handshakes fail until there is a certificate. */
  listen(address: { readonly host: string; readonly port: number }): Promise<void>;
  /** The port that it listens on. */
  port(): number;
  /** Takes effect with the next handshake; open connections keep their pair. */
  useCertificate(pair: ServingPair): void;
  /** From now on each response closes its connection, so that the client opens the next one elsewhere. */
  startDraining(): void;
  openConnections(): Promise<number>;
  /** Stops accepting connections and waits for requests in flight. */
  close(): Promise<void>;
}

export function createAdmissionServer(admission: Admission, metrics: WebhookMetrics): AdmissionServer {
  let draining = false;
  const app = fastify({
    https: { headersTimeout: CONNECTION_TIMEOUT_MS },
    requestTimeout: CONNECTION_TIMEOUT_MS,
    keepAliveTimeout: CONNECTION_TIMEOUT_MS,
    // Requests that arrive while the last ones finish are still answered.
    return503OnClosing: false,
    exposeHeadRoutes: false,
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", (_request: FastifyRequest, payload: IncomingMessage) =>
    readBody(payload, BODY_LIMIT_BYTES),
  );

  app.addHook("onSend", (_request, reply, payload, done) => {
    if (draining) reply.header("connection", "close");
    done(null, payload);
  });

  addRoute(app, "mutate", admission.mutate, metrics);
  addRoute(app, "validate", admission.validate, metrics);
  app.setNotFoundHandler((request, reply) =>
    sendStatus(
      reply,
      404,
      "NotFound",
      `${request.method} ${request.url}: not found; use POST /mutate or POST /validate`,
    ),
  );

  return {
    async listen({ host, port }) {
      await app.listen({ host, port });
    },
    port: () => portOf(app.server),
    useCertificate({ cert, key }) {
      app.server.setSecureContext({ cert, key, minVersion: "TLSv1.2" });
    },
    startDraining() {
      draining = true;
    },
    openConnections: () => openConnections(app.server),
    async close() {
      const cutOff = setTimeout(() => app.server.closeAllConnections(), LAST_REQUESTS_MS);
      await app.close();
      clearTimeout(cutOff);
    },
  };
}

function addRoute(
  app: FastifyInstance<Server>,
  webhook: WebhookName,
  decide: Admission[WebhookName],
  metrics: WebhookMetrics,
): void {
  app.route({
    method: "POST",
    url: `/${webhook}`,
    onRequest(_request, reply, done) {
      // "close" is emitted once for every request, even if the client disconnects before the response.
      reply.raw.once("close", metrics.started(webhook));
      done();
    },
    handler(request, reply) {
      // Without a body there is no content type, and fastify does not call a parser.
      if (!Buffer.isBuffer(request.body)) throw new UnreadableBody(415, "content-type", NOT_JSON);
      const review = parseReview(request.body);
      if (review.kind === "request") {
        const answer = decide(review.request);
        const send = (response: AdmissionResponse) => reply.type(JSON_TYPE).send(reviewOf(response));
        return answer instanceof Promise ? answer.then(send) : send(answer);
      }
      metrics.answered(webhook, "unknown", { outcome: "unreadable", reason: review.reason });
      if (review.uid === undefined) return sendStatus(reply, 400, "BadRequest", review.problem);
      const response = unreadable(review.uid, 400, review.problem);
      return reply.code(400).type(JSON_TYPE).send(reviewOf(response));
    },
    errorHandler(error, _request, reply) {
      const problem = unreadableBody(error);
      if (problem === undefined) {
        // A bug, logged where it was caught; failurePolicy decides about the object.
        return sendStatus(reply, 500, "InternalError", "internal error; see the log of the webhook");
      }
      metrics.answered(webhook, "unknown", { outcome: "unreadable", reason: problem.reason });
      return sendStatus(reply, problem.statusCode, problem.statusReason, problem.message);
    },
  });
}

/** Why the body could not be read, from our own reader or from fastify; undefined for any other error. */
function unreadableBody(error: FastifyError): UnreadableBody | undefined {
  if (error instanceof UnreadableBody) return error;
  if (error.statusCode === 415) return new UnreadableBody(415, "content-type", NOT_JSON);
  return undefined;
}

/** A Status for the request itself, as client-go shows it in the API server's log. */
function sendStatus(reply: FastifyReply, code: number, reason: string, message: string): FastifyReply {
  const status = { apiVersion: "v1", kind: "Status", status: "Failure", code, reason, message };
  return reply.code(code).type(JSON_TYPE).send(JSON.stringify(status));
}

function openConnections(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
}
