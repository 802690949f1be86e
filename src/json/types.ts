// JSON as it came from outside: unknown fields of future versions survive.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
