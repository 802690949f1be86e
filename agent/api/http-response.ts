// Parses one HTTP/1.1 response incrementally. It covers what API servers and the proxies in front of them send to a
// client that asks for neither compression nor an upgrade.
import { wholeNumber } from "../whole-number.ts";

/** The next bytes, or undefined once the server has closed the connection. */
export type ByteSource = () => Promise<Uint8Array | undefined>;

export interface ResponseHead {
  readonly status: number;
  /** Names in lower case. The last value wins for a repeated name. */
  readonly headers: ReadonlyMap<string, string>;
}

/** The response is not HTTP, or was cut off. */
class MalformedResponse extends Error {}

/**
 * Limits for the length of a line and the number of headers: far above what servers send, far below what would exhaust
 * the agent's memory.
 */
const LINE_LIMIT = 16_384;
const HEADER_LIMIT = 128;

const EMPTY = Buffer.alloc(0);

export class ResponseReader {
  readonly #source: ByteSource;
  #unread: Buffer = EMPTY;
  #head: ResponseHead | undefined;
  #complete = false;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** Whether the response was read completely and the connection can carry another request. */
  get isReusable(): boolean {
    const { headers } = this.#head ?? {};
    const isDelimited = headers !== undefined && (isChunked(headers) || headers.has("content-length"));
    return (
      this.#complete && isDelimited && headers.get("connection")?.toLowerCase() !== "close" && this.#unread.length === 0
    );
  }

  async head(): Promise<ResponseHead> {
    const first = await this.#line();
    const status = first.startsWith("HTTP/1.") ? wholeNumber(first.slice(9, 12), 10) : undefined;
    if (status === undefined)
      throw new MalformedResponse(`not an HTTP response: ${JSON.stringify(first.slice(0, 100))}`);
    const headers = new Map<string, string>();
    for (let line = await this.#line(); line !== ""; line = await this.#line()) {
      const colon = line.indexOf(":");
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
      if (headers.size > HEADER_LIMIT) throw new MalformedResponse("the response has too many headers");
    }
    // 100 Continue and 103 Early Hints come before the response.
    if (status < 200) return this.head();
    this.#head = { status, headers };
    return this.#head;
  }

  async *body(): AsyncGenerator<Uint8Array, void, undefined> {
    const { status, headers } = this.#head ?? (await this.head());
    if (isChunked(headers)) yield* this.#chunks();
    else if (status === 204 || status === 304) yield* this.#exactly(0);
    else if (headers.has("content-length")) yield* this.#exactly(lengthIn(headers.get("content-length"), 10));
    else yield* this.#untilClosed();
    this.#complete = true;
  }

  async *#chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      // Chunk extensions follow a semicolon and are ignored.
      const size = lengthIn((await this.#line()).split(";")[0], 16);
      if (size === 0) break;
      yield* this.#exactly(size);
      if ((await this.#line()) !== "") throw new MalformedResponse("a chunk is longer than its size");
    }
    while ((await this.#line()) !== "");
  }

  async *#exactly(length: number): AsyncGenerator<Uint8Array, void, undefined> {
    for (let left = length; left > 0; ) {
      if (this.#unread.length === 0) await this.#more();
      const chunk = this.#unread.subarray(0, left);
      this.#unread = this.#unread.subarray(chunk.length);
      left -= chunk.length;
      yield chunk;
    }
  }

  async *#untilClosed(): AsyncGenerator<Uint8Array, void, undefined> {
    if (this.#unread.length > 0) yield this.#unread;
    this.#unread = EMPTY;
    for (let chunk = await this.#source(); chunk !== undefined; chunk = await this.#source()) yield chunk;
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#unread.indexOf("\r\n");
      if (end >= 0) {
        const line = this.#unread.toString("latin1", 0, end);
        this.#unread = this.#unread.subarray(end + 2);
        return line;
      }
      if (this.#unread.length > LINE_LIMIT) throw new MalformedResponse("the response has a line that is too long");
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    const chunk = await this.#source();
    if (chunk === undefined) throw new MalformedResponse("the connection was closed before the response ended");
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    this.#unread = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
  }
}

function isChunked(headers: ReadonlyMap<string, string>): boolean {
  return headers.get("transfer-encoding")?.toLowerCase() === "chunked";
}

function lengthIn(text: string | undefined, radix: 10 | 16): number {
  const trimmed = (text ?? "").trim();
  const length = wholeNumber(trimmed, radix);
  if (length === undefined) throw new MalformedResponse(`invalid length: ${JSON.stringify(trimmed.slice(0, 100))}`);
  return length;
}
