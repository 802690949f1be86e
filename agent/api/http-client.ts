// The agent's HTTP client for the API server, with the Pod's own token. Requests share one idle connection; a second
// one is opened while a watch occupies the first. Token and CA are read for every request, because the kubelet rotates
// them.
import { file } from "bun";
import { type ResponseHead, ResponseReader } from "./http-response.ts";
import { RequestError } from "./request-error.ts";
import { type ServerAddress, TlsConnection, type TlsSession } from "./tls-connection.ts";

export interface ApiRequest {
  readonly method: "GET" | "PATCH";
  readonly path: string;
  readonly body?: { readonly contentType: string; readonly text: string };
  /** Longest pause between two chunks of the response. The wait for its first byte is bounded as well. */
  readonly idleTimeoutMs?: number;
}

/** What the agent needs of an API client. */
export interface ApiClient {
  /** Resolves to the response body once the server answers with success. Both steps may fail with a RequestError. */
  open(request: ApiRequest): Promise<AsyncGenerator<Uint8Array, void, undefined>>;
}

/** A server that accepts no connection for so long counts as unreachable. */
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Longer than a busy API server keeps a request in its queues and works on it (`--request-timeout`, 60 s): to give up
 * earlier would only put the same request at the end of the queue.
 */
const RESPONSE_TIMEOUT_MS = 65_000;

export class HttpClient implements ApiClient {
  readonly #server: ServerAddress;
  readonly #folder: string;
  readonly #files = new Map<string, string>();
  readonly #connections = new Set<TlsConnection>();
  /** The connection to reuse for the next request. */
  #idle: { readonly ca: string; readonly connection: TlsConnection } | undefined;
  /** Saves the server a signature for the next connection. Only with the CA that has verified the server. */
  #session: { readonly ca: string; readonly session: TlsSession } | undefined;

  constructor(server: ServerAddress, credentialsFolder: string) {
    this.#server = server;
    this.#folder = credentialsFolder;
  }

  async open(request: ApiRequest): Promise<AsyncGenerator<Uint8Array, void, undefined>> {
    const { idleTimeoutMs = RESPONSE_TIMEOUT_MS } = request;
    const ca = await this.#read("ca.crt");
    const text = write(request, this.#server, await this.#read("token"));
    const connection = await this.#acquire(ca, Math.min(idleTimeoutMs, CONNECT_TIMEOUT_MS));
    let timeoutMs = Math.min(idleTimeoutMs, RESPONSE_TIMEOUT_MS);
    const response = new ResponseReader(() => connection.receive(timeoutMs));
    const keepIdle = () => {
      this.#idle?.connection.close();
      this.#idle = { ca, connection };
    };
    connection.send(text);
    const head = await closingOnError(connection, () => response.head());
    const { session } = connection;
    if (session !== undefined) this.#session = { ca, session };
    timeoutMs = idleTimeoutMs;
    const chunks = bodyOf(connection, response, keepIdle);
    if (head.status < 300) return chunks;
    const body: Uint8Array[] = [];
    for await (const chunk of chunks) body.push(chunk);
    throw errorFrom(head, Buffer.concat(body).toString());
  }

  /** The idle connection, unless it has closed or the CA has changed. It is taken out while in use. */
  async #acquire(ca: string, timeoutMs: number): Promise<TlsConnection> {
    const idle = this.#idle;
    this.#idle = undefined;
    if (idle?.ca === ca && idle.connection.isIdle) return idle.connection;
    idle?.connection.close();
    const session = this.#session?.ca === ca ? this.#session.session : undefined;
    const connection = await TlsConnection.open(this.#server, ca, timeoutMs, session);
    for (const each of this.#connections) if (each.isClosed) this.#connections.delete(each);
    this.#connections.add(connection);
    return connection;
  }

  /** Ends every request, as the end of the process does. For agents that share a process. */
  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  /** A file that vanishes for a moment must not stop an agent whose last token is still valid. */
  async #read(name: string): Promise<string> {
    const path = `${this.#folder}/${name}`;
    try {
      // Not with node:fs, which alone costs another MiB of memory.
      this.#files.set(name, (await file(path).text()).trim());
    } catch (error) {
      if (!this.#files.has(name)) throw new RequestError(`cannot read ${path}`, { cause: error });
    }
    return this.#files.get(name) ?? "";
  }
}

function write({ method, path, body }: ApiRequest, { host, port }: ServerAddress, token: string): string {
  const headers = [
    `Host: ${host.includes(":") ? `[${host}]` : host}:${port}`,
    `Authorization: Bearer ${token}`,
    "Accept: application/json",
    "User-Agent: reprise-agent",
    ...(body === undefined
      ? []
      : [`Content-Type: ${body.contentType}`, `Content-Length: ${Buffer.byteLength(body.text)}`]),
  ];
  return `${method} ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n${body?.text ?? ""}`;
}

async function* bodyOf(
  connection: TlsConnection,
  response: ResponseReader,
  keepIdle: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = response.body();
  try {
    for (;;) {
      const next = await closingOnError(connection, () => chunks.next());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // A connection whose response was read completely is reused.
    if (response.isReusable) keepIdle();
    else connection.close();
  }
}

/** Closes the connection on failure and turns every error into a RequestError. */
async function closingOnError<T>(connection: TlsConnection, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    connection.close();
    if (error instanceof RequestError) throw error;
    throw new RequestError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function errorFrom({ status, headers }: ResponseHead, body: string): RequestError {
  const seconds = Number(headers.get("retry-after"));
  return new RequestError(`${status} ${messageIn(body)}`.trim(), {
    status,
    ...(seconds > 0 ? { retryAfterMs: seconds * 1000 } : {}),
  });
}

/** The message of a Status object, or the start of a proxy's error page. */
function messageIn(body: string): string {
  try {
    const status: unknown = JSON.parse(body);
    if (typeof status === "object" && status !== null && "message" in status) return String(status.message);
  } catch {}
  return body.slice(0, 200);
}
