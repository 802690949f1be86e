// Reads one HTTP/1.1 response from a connection, piece by piece. As much of the protocol as API servers and the proxies in front
// of them speak to a client that asks for no compression and no upgrade.
import { wholeNumber } from "../whole-number.ts";

/** The next bytes, or undefined when the other side has closed. */
export type ByteSource = () => Promise<Uint8Array | undefined>;

export interface ResponseHead {
  readonly status: number;
  /** Names in lower case. Of a name that came twice, the last. */
  readonly headers: ReadonlyMap<string, string>;
}

/** The response is not HTTP, or broke off. */
export class ResponseBroken extends Error {}

/** Longest line, and most of them in a head: far beyond what servers send, and not enough to fill an agent's memory. */
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

  /** Whether the response was read to its end, and the connection can take the next request. */
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
    if (status === undefined) throw new ResponseBroken(`not an HTTP response: ${JSON.stringify(first.slice(0, 100))}`);
    const headers = new Map<string, string>();
    for (let line = await this.#line(); line !== ""; line = await this.#line()) {
      const colon = line.indexOf(":");
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
      if (headers.size > HEADER_LIMIT) throw new ResponseBroken("the response has too many headers");
    }
    // "Go on" and "early hints" are not the answer yet.
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
      // What follows a semicolon is an extension, and nobody's.
      const size = lengthIn((await this.#line()).split(";")[0], 16);
      if (size === 0) break;
      yield* this.#exactly(size);
      if ((await this.#line()) !== "") throw new ResponseBroken("a chunk is longer than it says");
    }
    while ((await this.#line()) !== "");
  }

  async *#exactly(length: number): AsyncGenerator<Uint8Array, void, undefined> {
    for (let left = length; left > 0; ) {
      if (this.#unread.length === 0) await this.#more();
      const piece = this.#unread.subarray(0, left);
      this.#unread = this.#unread.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  async *#untilClosed(): AsyncGenerator<Uint8Array, void, undefined> {
    if (this.#unread.length > 0) yield this.#unread;
    this.#unread = EMPTY;
    for (let piece = await this.#source(); piece !== undefined; piece = await this.#source()) yield piece;
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#unread.indexOf("\r\n");
      if (end >= 0) {
        const line = this.#unread.toString("latin1", 0, end);
        this.#unread = this.#unread.subarray(end + 2);
        return line;
      }
      if (this.#unread.length > LINE_LIMIT) throw new ResponseBroken("the response has a line without an end");
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    const piece = await this.#source();
    if (piece === undefined) throw new ResponseBroken("the connection was closed before the response ended");
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    this.#unread = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
  }
}

function isChunked(headers: ReadonlyMap<string, string>): boolean {
  return headers.get("transfer-encoding")?.toLowerCase() === "chunked";
}

function lengthIn(text: string | undefined, radix: 10 | 16): number {
  const trimmed = (text ?? "").trim();
  const length = wholeNumber(trimmed, radix);
  if (length === undefined) throw new ResponseBroken(`not a length: ${JSON.stringify(trimmed.slice(0, 100))}`);
  return length;
}
