// A TLS connection as a stream of chunks: writes are sent whole, reads are delivered in order, and every failure is a
// RequestError.
import { connect, type Socket } from "bun";
import { RequestError } from "./request-error.ts";

/** TCP probes a silent peer after this time, so that a lost node or load balancer is noticed. */
const KEEP_ALIVE_MS = 10_000;

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** With it, the next connection needs no new signature of the server. */
export type TlsSession = Uint8Array;

export class TlsConnection {
  readonly #received: Uint8Array[] = [];
  /** Bytes that the kernel has not accepted yet. */
  #outgoing = Buffer.alloc(0);
  #socket: Socket<undefined> | undefined;
  #closed = false;
  #wake: (() => void) | undefined;

  /** Resolves once connected to a server whose certificate the CA signed for this host. */
  static async open(
    { host, port }: ServerAddress,
    ca: string,
    timeoutMs: number,
    session?: TlsSession,
  ): Promise<TlsConnection> {
    const connection = new TlsConnection();
    const handshake = Promise.withResolvers<void>();
    const connecting = connect<undefined>({
      hostname: host,
      port,
      tls: { ca, rejectUnauthorized: true },
      socket: {
        open: (socket) => {
          connection.#socket = socket;
          if (session !== undefined) socket.setSession(session);
          socket.setKeepAlive(true, KEEP_ALIVE_MS);
        },
        handshake: (_socket, isGood, error) =>
          isGood
            ? handshake.resolve()
            : handshake.reject(new RequestError(codeOf(error) ?? "the certificate is not trusted")),
        data: (_socket, chunk) => connection.#take(chunk),
        drain: () => connection.#flush(),
        error: () => connection.#end(),
        close: () => {
          connection.#end();
          handshake.reject(new RequestError("the connection was closed during the TLS handshake"));
        },
      },
    });
    connecting.catch((error: unknown) =>
      handshake.reject(new RequestError(codeOf(error) ?? "the connection failed", { cause: error })),
    );
    try {
      await withTimeout(handshake.promise, timeoutMs);
      return connection;
    } catch (error) {
      // bun may still open it.
      connecting.then((socket) => socket.terminate()).catch(() => {});
      connection.close();
      throw error;
    }
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Open, with no unexpected bytes from the server. */
  get isIdle(): boolean {
    return !this.#closed && this.#received.length === 0;
  }

  /** Complete once the server has sent data. */
  get session(): TlsSession | undefined {
    return this.#socket?.getSession();
  }

  send(text: string): void {
    this.#outgoing = Buffer.concat([this.#outgoing, Buffer.from(text)]);
    this.#flush();
  }

  /** The next chunk, or undefined once the server has closed the connection. */
  async receive(idleTimeoutMs: number): Promise<Uint8Array | undefined> {
    if (this.#received.length === 0 && !this.#closed) {
      await withTimeout(new Promise<void>((resolve) => (this.#wake = resolve)), idleTimeoutMs);
    }
    return this.#received.shift();
  }

  close(): void {
    this.#end();
    this.#socket?.terminate();
  }

  #take(chunk: Uint8Array): void {
    // A copy: bun reuses its buffer.
    this.#received.push(new Uint8Array(chunk));
    this.#wake?.();
  }

  #flush(): void {
    if (this.#outgoing.length === 0) return;
    const written = this.#socket?.write(this.#outgoing) ?? 0;
    this.#outgoing = this.#outgoing.subarray(Math.max(0, written));
  }

  #end(): void {
    this.#closed = true;
    this.#wake?.();
  }
}

async function withTimeout<T>(next: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new RequestError(`no response for ${timeoutMs / 1000} s`)), timeoutMs);
  });
  try {
    return await Promise.race([next, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The code separates the cases that matter (refused, unresolved, untrusted) and is the same for every attempt. */
function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
