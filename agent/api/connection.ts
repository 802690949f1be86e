// Requests to the API server with the Pod's own token, one after the other over one kept connection, and over a second one while the
// first has a watch. Token and CA are read anew for every request, because the kubelet rotates them under a running agent.
import { file } from "bun";
import { ApiTrouble } from "./api-trouble.ts";
import { Channel, type ServerAddress } from "./channel.ts";
import { type ResponseHead, ResponseReader } from "./http-response.ts";

export interface ApiRequest {
  readonly method: "GET" | "PATCH";
  readonly path: string;
  readonly body?: { readonly contentType: string; readonly text: string };
  /** Longest silence between two pieces of the answer; by default no longer than its beginning may take. */
  readonly quietMs?: number;
}

/** Whatever answers requests as the API server does. */
export interface ApiServer {
  /** Resolves to the body, in pieces, once the server began to answer with success. Both may fail with ApiTrouble. */
  open(request: ApiRequest): Promise<AsyncGenerator<Uint8Array, void, undefined>>;
}

/** An answer is a matter of milliseconds; an API server that takes longer to begin is as good as gone. */
const ANSWER_MS = 10_000;

export class Connection implements ApiServer {
  readonly #server: ServerAddress;
  readonly #folder: string;
  readonly #files = new Map<string, string>();
  /** Between two requests. */
  #kept: { readonly ca: string; readonly channel: Channel } | undefined;

  constructor(server: ServerAddress, credentialsFolder: string) {
    this.#server = server;
    this.#folder = credentialsFolder;
  }

  async open(request: ApiRequest): Promise<AsyncGenerator<Uint8Array, void, undefined>> {
    const { quietMs = ANSWER_MS } = request;
    const ca = await this.#read("ca.crt");
    const text = write(request, this.#server, await this.#read("token"));
    const channel = await this.#channel(ca, Math.min(quietMs, ANSWER_MS));
    let patienceMs = Math.min(quietMs, ANSWER_MS);
    const response = new ResponseReader(() => channel.receive(patienceMs));
    const keep = () => {
      this.#kept?.channel.close();
      this.#kept = { ca, channel };
    };
    channel.send(text);
    const head = await orTrouble(channel, () => response.head());
    patienceMs = quietMs;
    const pieces = bodyOf(channel, response, keep);
    if (head.status < 300) return pieces;
    const refusal: Uint8Array[] = [];
    for await (const piece of pieces) refusal.push(piece);
    throw refusedBy(head, Buffer.concat(refusal).toString());
  }

  /** The kept one, unless it is gone or the CA has changed since; nobody else gets it meanwhile. */
  async #channel(ca: string, limitMs: number): Promise<Channel> {
    const kept = this.#kept;
    this.#kept = undefined;
    if (kept?.ca === ca && kept.channel.isIdle) return kept.channel;
    kept?.channel.close();
    return await Channel.open(this.#server, ca, limitMs);
  }

  /** A file that is gone for a moment must not stop an agent whose last token is still good. */
  async #read(name: string): Promise<string> {
    const path = `${this.#folder}/${name}`;
    try {
      // Not by node:fs, which alone takes a MiB more.
      this.#files.set(name, (await file(path).text()).trim());
    } catch (error) {
      if (!this.#files.has(name)) throw new ApiTrouble(`cannot read ${path}`, { cause: error });
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
  channel: Channel,
  response: ResponseReader,
  keep: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const pieces = response.body();
  try {
    for (;;) {
      const next = await orTrouble(channel, () => pieces.next());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // The connection of a complete answer is kept for the next request.
    if (response.isReusable) keep();
    else channel.close();
  }
}

/** Closes the channel and turns every way to fail into ApiTrouble. */
async function orTrouble<T>(channel: Channel, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    channel.close();
    if (error instanceof ApiTrouble) throw error;
    throw new ApiTrouble(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function refusedBy({ status, headers }: ResponseHead, body: string): ApiTrouble {
  const seconds = Number(headers.get("retry-after"));
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
