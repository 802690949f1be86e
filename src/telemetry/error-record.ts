// Converts a thrown value to plain data with its chain of causes, for logs and the terminal.

export interface ErrorRecord {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: ErrorRecord;
  /** The errors of an AggregateError. */
  readonly errors?: readonly ErrorRecord[];
}

/** Deeper than any real chain. An error that is its own cause must not hang the log. */
const MAX_DEPTH = 8;

export function describeError(error: unknown, options: { readonly stack: boolean }, depth = 0): ErrorRecord {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { cause } = error;
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  const within = depth < MAX_DEPTH;
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    ...(options.stack && error.stack !== undefined ? { stack: error.stack } : {}),
    ...(within && cause !== undefined ? { cause: describeError(cause, options, depth + 1) } : {}),
    ...(within && error instanceof AggregateError
      ? { errors: error.errors.map((part: unknown) => describeError(part, options, depth + 1)) }
      : {}),
  };
}
