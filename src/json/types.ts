// JSON as it was received. Unknown fields of future versions survive.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Deeper than any Kubernetes object. Recursion ends here, so that hostile nesting cannot exhaust the stack. */
export const MAX_DEPTH = 200;
