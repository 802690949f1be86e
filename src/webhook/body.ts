// Reads a request body up to a limit. A body over the limit is read to its end and discarded: a server that responds
// and closes while the client still sends makes the client see a reset instead of the response.
import type { IncomingMessage } from "node:http";
import type { UnreadableReason } from "./metrics.ts";

/**
 * The API server accepts request bodies of up to 3 MiB. A review of an UPDATE carries two objects, and 1 MiB is left
 * for the envelope: user info, options, and what other webhooks added to the object.
 */
export const BODY_LIMIT_BYTES = 2 * 3 * 1024 * 1024 + 1024 * 1024;

const STATUS_REASONS = { 400: "BadRequest", 413: "RequestEntityTooLarge", 415: "UnsupportedMediaType" } as const;

/** A body that is no review. */
export class UnreadableBody extends Error {
  readonly statusCode: keyof typeof STATUS_REASONS;
  readonly reason: UnreadableReason;

  constructor(statusCode: keyof typeof STATUS_REASONS, reason: UnreadableReason, message: string) {
    super(message);
    this.name = "UnreadableBody";
    this.statusCode = statusCode;
    this.reason = reason;
  }

  /** The Kubernetes reason for the status code. */
  get statusReason(): string {
    return STATUS_REASONS[this.statusCode];
  }
}

export function readBody(stream: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else chunks.length = 0;
    });
    stream.on("end", () => {
      if (size <= limit) resolve(Buffer.concat(chunks, size));
      else reject(new UnreadableBody(413, "too-large", `body of ${size} bytes exceeds the limit of ${limit} bytes`));
    });
    stream.on("error", () => {
      reject(new UnreadableBody(400, "truncated", `the connection was closed after ${size} bytes of the body`));
    });
  });
}
