// Sends every request to the API server: one shared connection pool, credentials from client-node, errors that name the
// server. A watch must never delay another request.
//
// HTTP/1.1 on purpose. A watch has its own connection, so neither a slow watch consumer (HTTP/2 shares one flow-control
// window) nor a lost packet can delay a status write or a lease renewal. The price, one connection per watch, is small:
// a controller has a handful.

import type { RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import { RequestContext } from "@kubernetes/client-node";
import { Agent, type buildConnector, type Dispatcher, ProxyAgent, request } from "undici";
import { RepriseError, reasonOf } from "../errors.ts";
import { ApiError } from "./api-error.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface TransportRequest {
  readonly method: Method;
  /** Path and query, relative to the server's address. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** A stream has no timeout of its own; its reader decides. */
  readonly streaming?: boolean;
}

/** The API server ends ordinary requests after 60 s itself. A little more lets its own response arrive. */
const RESPONSE_TIMEOUT_MS = 65_000;

/**
 * How long an idle connection stays open: longer than the controller's usual pauses, shorter than load balancers'
 * timeouts.
 */
const KEEP_ALIVE_MS = 50_000;

/** The kernel probes a silent peer after 30 s, then 10 times every second: a lost machine is noticed after 40 s. */
const TCP_PROBE_DELAY_MS = 30_000;

/** The options that distinguish two TLS connections. */
const TLS_FIELDS = ["ca", "cert", "key", "pfx", "passphrase", "rejectUnauthorized", "servername"] as const;

export class Transport {
  readonly server: string;
  readonly #config: KubeConfig;
  readonly #userAgent: string;
  #pool: { readonly dispatcher: Dispatcher; readonly fingerprint: string } | undefined;

  constructor(config: KubeConfig, userAgent: string) {
    this.server = config.getCurrentCluster()?.server ?? "";
    this.#config = config;
    this.#userAgent = userAgent;
  }

  /** Returns only successful responses. Throws everything else. */
  async send(outgoing: TransportRequest): Promise<Dispatcher.ResponseData> {
    const { method, path, signal } = outgoing;
    const { headers, dispatcher } = await this.#authenticate();
    let response: Dispatcher.ResponseData;
    try {
      response = await request(this.server + path, {
        method,
        headers: { ...outgoing.headers, ...headers, "user-agent": this.#userAgent },
        dispatcher,
        bodyTimeout: outgoing.streaming === true ? 0 : RESPONSE_TIMEOUT_MS,
        ...(outgoing.body === undefined ? {} : { body: outgoing.body }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      throw this.connectionError(error, signal);
    }
    if (response.statusCode >= 200 && response.statusCode < 300) return response;
    const retryAfter = response.headers["retry-after"];
    const body = await response.body.text().catch((error: unknown) => {
      throw this.connectionError(error, signal);
    });
    throw new ApiError({
      server: this.server,
      method,
      path: path.split("?", 1)[0] ?? path,
      status: response.statusCode,
      body,
      retryAfterHeader: typeof retryAfter === "string" ? retryAfter : undefined,
    });
  }

  /**
   * Also used for bodies, since a connection can break after the response began. An abort by the caller keeps its
   * reason.
   */
  connectionError(error: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted === true) return signal.reason;
    const reason = describe(error);
    const code = isTlsFailure(error) ? "API_TLS_REJECTED" : "API_UNREACHABLE";
    return new RepriseError(code, { server: this.server, reason }, { cause: error });
  }

  async close(): Promise<void> {
    const pool = this.#pool;
    this.#pool = undefined;
    await pool?.dispatcher.destroy();
  }

  async #authenticate(): Promise<{ headers: Record<string, string>; dispatcher: Dispatcher }> {
    const options: RequestOptions = {};
    try {
      // Sets headers and TLS options: bearer tokens, exec plugins, certificates. Files are read each time, so that a
      // rotated CA or client certificate is used.
      await this.#config.applyToHTTPSOptions(options);
    } catch (error) {
      if (error instanceof RepriseError) throw error;
      const user = this.#config.getCurrentUser()?.name ?? "";
      const params = { server: this.server, user, reason: reasonOf(error).trim() };
      throw new RepriseError("API_CREDENTIALS_FAILED", params, { cause: error });
    }
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = String(value);
    if (options.auth) headers["authorization"] = `Basic ${Buffer.from(options.auth).toString("base64")}`;
    return { headers, dispatcher: await this.#dispatcher(options) };
  }

  /** The shared pool, replaced only when the TLS options change. Requests in flight finish on the old one. */
  async #dispatcher(options: RequestOptions): Promise<Dispatcher> {
    const fingerprint = TLS_FIELDS.map((field) => String(options[field] ?? "")).join("\0");
    if (this.#pool?.fingerprint === fingerprint) return this.#pool.dispatcher;
    const created = await this.#createDispatcher(options);
    const previous = this.#pool;
    // Another request may have created the same pool meanwhile.
    if (previous?.fingerprint === fingerprint) return previous.dispatcher;
    this.#pool = { dispatcher: created, fingerprint };
    previous?.dispatcher.close().catch(() => {});
    return created;
  }

  async #createDispatcher(options: RequestOptions): Promise<Dispatcher> {
    const settings = { allowH2: false, headersTimeout: RESPONSE_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_MS };
    const tls: buildConnector.BuildOptions = { keepAliveInitialDelay: TCP_PROBE_DELAY_MS };
    for (const field of TLS_FIELDS) if (options[field] !== undefined) Object.assign(tls, { [field]: options[field] });
    const plan = this.#config.createDispatcherOptions(this.#config.getCurrentCluster(), {});
    switch (plan.type) {
      case "none":
      case "agent":
        return new Agent({ ...settings, connect: tls });
      case "proxy":
        return new ProxyAgent({ ...settings, uri: plan.uri, requestTls: tls });
      case "socks": {
        // client-node does not export its SOCKS connector, but returns a dispatcher that uses it.
        const context = new RequestContext(this.server, "GET");
        await this.#config.applySecurityAuthentication(context);
        return context.getDispatcher() ?? new Agent(settings);
      }
    }
  }
}

function isTlsFailure(error: unknown): boolean {
  return /^(ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|EPROTO)/.test(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Node's AggregateError for several addresses has an empty message; its first error has the reason. */
function describe(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return describe(error.errors[0]);
  const code = codeOf(error);
  const reason = reasonOf(error);
  return code === "" || reason.includes(code) ? reason : `${reason} (${code})`;
}
