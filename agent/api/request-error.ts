/** A request that failed. `status` is absent if the API server could not be reached. */
export class RequestError extends Error {
  readonly status: number | undefined;
  /** From the Retry-After header. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { status?: number; retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = "RequestError";
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }
}
