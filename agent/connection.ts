// HTTPS to the API server with the Pod's own token. Requests share kept-alive connections; token and CA are read anew
// for every request, because the kubelet rotates them under a running agent.
import { readFileSync } from "node:fs";
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Agent } from "node:https";
import { join } from "node:path";

export interface ApiRequest {
  readonly method: "GET" | "PATCH";
  readonly path: string;
  readonly body?: { readonly contentType: string; readonly text: string };
  /** Longest silence between two pieces of the answer; by default no longer than its beginning may take. */
  readonly quietMs?: number;
}

/** The API server refused, or could not be reached: `status` is absent then. */
export class ApiTrouble extends Error {
  readonly status: number | undefined;
  /** What the server asked for in Retry-After. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { status?: number; retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = "ApiTrouble";
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** An answer is a matter of milliseconds; an API server that takes longer to begin is as good as gone. */
const ANSWER_MS = 10_000;

/** A silent peer is asked whether it is alive after this time, so that a lost node or load balancer is noticed. */
const KEEP_ALIVE_MS = 10_000;

interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** Loaded when first needed: the barrier's port is open by then, and no probe was refused meanwhile. */
const https = () => process.getBuiltinModule("node:https");

export class Connection {
  readonly #server: ServerAddress;
  readonly #folder: string;
  readonly #files = new Map<string, string>();
  #pool: { readonly ca: string; readonly agent: Agent } | undefined;

  constructor(server: ServerAddress, credentialsFolder: string) {
    this.#server = server;
    this.#folder = credentialsFolder;
  }

  /** Resolves to the body, in pieces, once the server began to answer with success. Both may fail with ApiTrouble. */
  async open({
    method,
    path,
    body,
    quietMs = ANSWER_MS,
  }: ApiRequest): Promise<AsyncGenerator<Uint8Array, void, undefined>> {
    const outgoing = https().request({
      ...this.#server,
      method,
      path,
      agent: this.#agent(),
      headers: {
        authorization: `Bearer ${this.#read("token")}`,
        accept: "application/json",
        "user-agent": "reprise-agent",
        ...(body === undefined
          ? {}
          : { "content-type": body.contentType, "content-length": Buffer.byteLength(body.text) }),
      },
    });
    outgoing.on("socket", (socket) => socket.setKeepAlive(true, KEEP_ALIVE_MS));
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on("response", resolve);
      outgoing.on("error", reject);
    });
    outgoing.end(body?.text);
    const response = await new Silence(outgoing, Math.min(quietMs, ANSWER_MS)).guard(answered);
    const pieces = bodyOf(response, new Silence(outgoing, quietMs));
    const { statusCode = 0 } = response;
    if (statusCode < 300) return pieces;
    const refusal: Uint8Array[] = [];
    for await (const piece of pieces) refusal.push(piece);
    throw refusedBy(response, Buffer.concat(refusal).toString());
  }

  #agent(): Agent {
    const ca = this.#read("ca.crt");
    if (this.#pool?.ca !== ca) {
      this.#pool?.agent.destroy();
      this.#pool = { ca, agent: new (https().Agent)({ ca, keepAlive: true }) };
    }
    return this.#pool.agent;
  }

  /** A file that is gone for a moment must not stop an agent whose last token is still good. */
  #read(name: string): string {
    const path = join(this.#folder, name);
    try {
      this.#files.set(name, readFileSync(path, "utf8").trim());
    } catch (error) {
      if (!this.#files.has(name)) throw new ApiTrouble(`cannot read ${path}`, { cause: error });
    }
    return this.#files.get(name) ?? "";
  }
}

/** Ends a request whose server shows no sign of life, and turns every way to fail into ApiTrouble. */
class Silence {
  readonly #request: ClientRequest;
  readonly #quietMs: number;

  constructor(request: ClientRequest, quietMs: number) {
    this.#request = request;
    this.#quietMs = quietMs;
  }

  /** What the server sends next, if it comes in time. */
  async guard<T>(next: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const silent = new Promise<never>((_resolve, reject) => {
      const reason = `no sign of life for ${this.#quietMs / 1000} s`;
      timer = setTimeout(() => reject(new ApiTrouble(reason)), this.#quietMs);
    });
    try {
      return await Promise.race([next, silent]);
    } catch (error) {
      this.end();
      throw error instanceof ApiTrouble ? error : new ApiTrouble(reasonFor(error), { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  end(): void {
    this.#request.destroy();
  }
}

async function* bodyOf(response: IncomingMessage, silence: Silence): AsyncGenerator<Uint8Array, void, undefined> {
  const pieces: AsyncIterator<Uint8Array> = response[Symbol.asyncIterator]();
  let complete = false;
  try {
    while (!complete) {
      const next = await silence.guard(pieces.next());
      complete = next.done === true;
      if (next.done !== true) yield next.value;
    }
  } finally {
    // The connection of a complete answer is kept for the next request.
    if (!complete) silence.end();
  }
}

function reasonFor(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The code tells apart what matters (refused, unresolved, untrusted) and stays the same from one try to the next.
  return "code" in error && typeof error.code === "string" ? error.code : error.message;
}

function refusedBy(response: IncomingMessage, body: string): ApiTrouble {
  const { statusCode: status = 0, headers } = response;
  const seconds = Number(headers["retry-after"]);
  return new ApiTrouble(`${status} ${messageIn(body)}`.trim(), {
    status,
    ...(seconds > 0 ? { retryAfterMs: seconds * 1000 } : {}),
  });
}

/** What a Status object says, or the beginning of what a proxy in between says. */
function messageIn(body: string): string {
  try {
    const status: unknown = JSON.parse(body);
    if (typeof status === "object" && status !== null && "message" in status) return String(status.message);
  } catch {}
  return body.slice(0, 200);
}
