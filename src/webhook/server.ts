// The HTTPS server of the two admission endpoints. It knows HTTP and TLS and nothing about JobSets.
// HTTP/1.1 only: the API server asks for nothing else on a webhook behind a Service, so that calls spread over replicas.
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
 * The API server drops a connection after 90 s without use. A server that does so first can close while a request is on
 * its way, and a POST is not sent again. Node also counts the time before the first request of a connection as waiting for
 * headers, and the API server pools connections it has never used, so all three timeouts stay above 90 s.
 */
const CONNECTION_TIMEOUT_MS = 120_000;

/** How long requests that are still running when the server closes may take; the API server itself waits 5 s. */
const LAST_REQUESTS_MS = 5_000;

const NOT_JSON = "expected an AdmissionReview with content type application/json";

const JSON_TYPE = "application/json; charset=utf-8";

export interface AdmissionServer {
  /** Handshakes fail until there is a certificate. */
  listen(address: { readonly host: string; readonly port: number }): Promise<void>;
  /** The one it listens on. */
  port(): number;
  /** Takes effect with the next handshake; open connections keep the pair they began with. */
  useCertificate(pair: ServingPair): void;
  /** From now on each answer asks the client to open its next connection elsewhere. */
  startDraining(): void;
  openConnections(): Promise<number>;
  /** Stops accepting, lets running requests finish, then ends. */
  close(): Promise<void>;
}

export function createAdmissionServer(admission: Admission, metrics: WebhookMetrics): AdmissionServer {
  let draining = false;
  const app = fastify({
    https: { headersTimeout: CONNECTION_TIMEOUT_MS },
    requestTimeout: CONNECTION_TIMEOUT_MS,
    keepAliveTimeout: CONNECTION_TIMEOUT_MS,
    // While the last requests run out, a request that came in time is still answered.
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
    sendStatus(reply, 404, "NotFound", `${request.method} ${request.url}: only POST /mutate and POST /validate exist`),
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
      // "close" comes once for every request, also when the client goes away before its answer.
      reply.raw.once("close", metrics.started(webhook));
      done();
    },
    handler(request, reply) {
      // Without a body there is no content type either, and fastify comes here without asking a parser.
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
        // A defect, logged where it was caught; failurePolicy decides what becomes of the object.
        return sendStatus(reply, 500, "InternalError", "the webhook failed on this request; its log says why");
      }
      metrics.answered(webhook, "unknown", { outcome: "unreadable", reason: problem.reason });
      return sendStatus(reply, problem.statusCode, problem.statusReason, problem.message);
    },
  });
}

/** What kept the body from being read, as ours or as fastify says it; undefined when the error is something else. */
function unreadableBody(error: FastifyError): UnreadableBody | undefined {
  if (error instanceof UnreadableBody) return error;
  if (error.statusCode === 415) return new UnreadableBody(415, "content-type", NOT_JSON);
  return undefined;
}

/** A refusal of the request itself, in the form that client-go shows to whoever reads the API server's log. */
function sendStatus(reply: FastifyReply, code: number, reason: string, message: string): FastifyReply {
  const status = { apiVersion: "v1", kind: "Status", status: "Failure", code, reason, message };
  return reply.code(code).type(JSON_TYPE).send(JSON.stringify(status));
}

function openConnections(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
}
