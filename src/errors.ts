// Every failure that a user can meet, as a table: what is said, and what the user can do about it.
// An error is thrown once, with its cause attached, and printed once, by the command or server that owns it.

interface Entry<P> {
  readonly message: (params: P) => string;
  readonly fix: (params: P) => string;
}

function entry<P>(message: (params: P) => string, fix: (params: P) => string): Entry<P> {
  return { message, fix };
}

export const ERRORS = {
  KUBECONFIG_UNREADABLE: entry<{ file: string; reason: string }>(
    (p) => `kubeconfig ${p.file} cannot be read: ${p.reason}`,
    () => "pass --kubeconfig FILE, or set KUBECONFIG to a readable file",
  ),
} as const;

export type ErrorCode = keyof typeof ERRORS;
export type ErrorParams<C extends ErrorCode> = (typeof ERRORS)[C] extends Entry<infer P> ? P : never;

/** An error with a code from the table. Its message is one line: what was wrong, where, and what to do. */
export class RepriseError<C extends ErrorCode = ErrorCode> extends Error {
  readonly code: C;
  readonly fix: string;

  constructor(code: C, params: ErrorParams<C>, options?: { cause?: unknown }) {
    const { message, fix } = ERRORS[code] as unknown as Entry<ErrorParams<C>>;
    super(`${message(params)}; ${fix(params)}`, options);
    this.name = "RepriseError";
    this.code = code;
    this.fix = fix(params);
  }
}

/** The text of an unknown thrown value, for use inside another error's message. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
