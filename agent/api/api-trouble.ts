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
