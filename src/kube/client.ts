// The only client for the API server: typed calls through client-node's generated classes, plain JSON requests, and
// streams for watches, all over one transport. It never retries: only the caller knows whether a request may be
// repeated.

import type { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import {
  type ApiConstructor,
  type ApiType,
  type Configuration,
  createConfiguration,
  type KubeConfig,
  type RequestContext,
  ResponseContext,
  SelfDecodingBody,
  ServerConfiguration,
  wrapHttpLibrary,
} from "@kubernetes/client-node";
import { VERSION } from "../api/version.ts";
import { RepriseError } from "../errors.ts";
import type { JsonObject } from "../json/types.ts";
import { isJsonObject } from "./api-error.ts";
import { type KubeConfigSource, loadKubeConfig } from "./kubeconfig.ts";
import { type Method, Transport } from "./transport.ts";

export const MERGE_PATCH = "application/merge-patch+json";
/** Merges lists of built-in types by key, for example conditions by type. */
export const STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json";
export const JSON_PATCH = "application/json-patch+json";
/** Server-side apply. JSON is valid YAML. */
export const APPLY_PATCH = "application/apply-patch+yaml";

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestOptions {
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
  /** Called with each warning of the API server or of a webhook. */
  readonly onWarning?: (text: string) => void;
}

export function connect(source?: KubeConfigSource): KubeClient {
  return new KubeClient(loadKubeConfig(source));
}

export class KubeClient {
  /** Namespace of the current context, or of the Pod. */
  readonly namespace: string;
  readonly #transport: Transport;
  readonly #configuration: Configuration;

  constructor(config: KubeConfig) {
    this.#transport = new Transport(config, `reprise/${VERSION}`);
    this.namespace = config.getContextObject(config.getCurrentContext())?.namespace ?? "default";
    this.#configuration = createConfiguration({
      baseServer: new ServerConfiguration(this.server, {}),
      // Replacing the HTTP library gives typed calls the shared pool, rotating credentials and the same errors.
      // client-node's own dispatcher would open a new TLS connection for every request.
      httpApi: wrapHttpLibrary({ send: (context) => this.#sendTyped(context) }),
    });
  }

  get server(): string {
    return this.#transport.server;
  }

  /** A generated API class of client-node, e.g. `client.api(CoreV1Api)`. */
  api<T extends ApiType>(type: ApiConstructor<T>): T {
    return new type(this.#configuration);
  }

  /** One JSON request. Throws an ApiError unless the response is a success. */
  async request(method: Method, path: string, options: RequestOptions = {}): Promise<JsonObject> {
    const response = await this.#transport.send({
      method,
      path: withQuery(path, options.query),
      headers: {
        accept: "application/json",
        ...(options.body === undefined ? {} : { "content-type": options.contentType ?? "application/json" }),
      },
      body: options.body === undefined ? undefined : JSON.stringify(options.body),
      signal: options.signal,
    });
    for (const warning of warningsIn(response.headers["warning"])) options.onWarning?.(warning);
    const text = await this.#reading(response.body.text(), options.signal);
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch {
      // Handled below, together with JSON that is no object.
    }
    if (isJsonObject(answer)) return answer;
    const reason = `the response to ${method} ${path} is not a JSON object: ${text.slice(0, 80)}`;
    throw new RepriseError("API_UNREACHABLE", { server: this.server, reason });
  }

  /** The response body of a GET, as it arrives. Read errors are raised by the stream. */
  async stream(path: string, options: Pick<RequestOptions, "query" | "signal"> = {}): Promise<Readable> {
    const response = await this.#transport.send({
      method: "GET",
      path: withQuery(path, options.query),
      headers: { accept: "application/json" },
      signal: options.signal,
      streaming: true,
    });
    return response.body;
  }

  /** Closes every connection, including those of running watches. */
  close(): Promise<void> {
    return this.#transport.close();
  }

  async #sendTyped(context: RequestContext): Promise<ResponseContext> {
    const url = new URL(context.getUrl());
    const body = context.getBody();
    const prefix = new URL(this.server).pathname.replace(/\/$/, "");
    const signal = context.getSignal();
    const response = await this.#transport.send({
      method: context.getHttpMethod() as Method,
      path: url.pathname.slice(prefix.length) + url.search,
      headers: context.getHeaders(),
      body: body === undefined ? undefined : String(body),
      signal,
    });
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(response.headers)) headers[name] = String(value);
    const bytes = await this.#reading(response.body.bytes(), signal);
    return new ResponseContext(response.statusCode, headers, new SelfDecodingBody(Promise.resolve(Buffer.from(bytes))));
  }

  async #reading<T>(body: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    try {
      const content = await body;
      // The pool counts a connection as busy until the end of the turn in which its response ended. Without this, a
      // caller that sends its next request at once would open a second one.
      await setImmediate();
      return content;
    } catch (error) {
      throw this.#transport.connectionError(error, signal);
    }
  }
}

/** The texts of Warning headers, such as `299 - "text"`. */
function warningsIn(header: string | readonly string[] | undefined): readonly string[] {
  const lines = header === undefined ? "" : typeof header === "string" ? header : header.join(", ");
  return [...lines.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) => text.replaceAll(/\\(.)/g, "$1"));
}

function withQuery(path: string, query: Query | undefined): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}
