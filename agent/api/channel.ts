// A TLS connection as a stream of pieces: what is written goes out whole, what arrives is handed out in order, and every way to
// fail is ApiTrouble.
import { connect, type Socket } from "bun";
import { ApiTrouble } from "./api-trouble.ts";

/** A silent peer is asked whether it is alive after this time, so that a lost node or load balancer is noticed. */
const KEEP_ALIVE_MS = 10_000;

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

export class Channel {
  readonly #arrived: Uint8Array[] = [];
  /** What the kernel did not take yet. */
  #outgoing = Buffer.alloc(0);
  #socket: Socket<undefined> | undefined;
  #closed = false;
  #wake: (() => void) | undefined;

  /** Connected when it resolves, with a server whose certificate the CA has signed for this host. */
  static async open({ host, port }: ServerAddress, ca: string, limitMs: number): Promise<Channel> {
    const channel = new Channel();
    const shaken = Promise.withResolvers<void>();
    const dialled = connect<undefined>({
      hostname: host,
      port,
      tls: { ca, rejectUnauthorized: true },
      socket: {
        open: (socket) => {
          channel.#socket = socket;
          socket.setKeepAlive(true, KEEP_ALIVE_MS);
        },
        handshake: (_socket, isGood, error) =>
          isGood ? shaken.resolve() : shaken.reject(new ApiTrouble(codeOf(error) ?? "the certificate is not trusted")),
        data: (_socket, piece) => channel.#take(piece),
        drain: () => channel.#flush(),
        error: () => channel.#end(),
        close: () => {
          channel.#end();
          shaken.reject(new ApiTrouble("the connection was closed during the TLS handshake"));
        },
      },
    });
    dialled.catch((error: unknown) =>
      shaken.reject(new ApiTrouble(codeOf(error) ?? "the connection failed", { cause: error })),
    );
    try {
      await inTime(shaken.promise, limitMs);
      return channel;
    } catch (error) {
      // It may yet be opened by bun.
      dialled.then((socket) => socket.terminate()).catch(() => {});
      channel.close();
      throw error;
    }
  }

  /** Open, and nothing has come that nobody asked for. */
  get isIdle(): boolean {
    return !this.#closed && this.#arrived.length === 0;
  }

  send(text: string): void {
    this.#outgoing = Buffer.concat([this.#outgoing, Buffer.from(text)]);
    this.#flush();
  }

  /** What arrives next, or undefined when the other side has closed. */
  async receive(quietMs: number): Promise<Uint8Array | undefined> {
    if (this.#arrived.length === 0 && !this.#closed) {
      await inTime(new Promise<void>((resolve) => (this.#wake = resolve)), quietMs);
    }
    return this.#arrived.shift();
  }

  close(): void {
    this.#end();
    this.#socket?.terminate();
  }

  #take(piece: Uint8Array): void {
    // A copy: bun uses its buffer again.
    this.#arrived.push(new Uint8Array(piece));
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

async function inTime<T>(next: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new ApiTrouble(`no sign of life for ${limitMs / 1000} s`)), limitMs);
  });
  try {
    return await Promise.race([next, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The code tells apart what matters (refused, unresolved, untrusted) and stays the same from one try to the next. */
function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
