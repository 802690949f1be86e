// An error response of the API server, as callers need it: status, reason, retry delay.

import { RepriseError } from "../errors.ts";
import type { JsonObject } from "../json/types.ts";

export interface ApiAnswer {
  readonly server: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The raw body; a metav1.Status if the API server itself answered. */
  readonly body: string;
  readonly retryAfterHeader?: string | undefined;
}

/** Proxies answer with whole HTML pages. One line of it is enough for a message. */
const MAX_MESSAGE = 300;

export class ApiError extends RepriseError<"API_UNAUTHORIZED" | "API_REJECTED"> {
  readonly status: number;
  /** Machine-readable reason of the Status (NotFound, Conflict, Expired ...), or "" if the body was no Status. */
  readonly reason: string;
  readonly retryAfterSeconds: number | undefined;
  readonly method: string;
  readonly path: string;
  /** The message of the Status, or the beginning of the body. */
  readonly detail: string;

  constructor(answer: ApiAnswer) {
    const { server, method, path, status } = answer;
    const details = readStatus(answer.body);
    const message = details.message ?? answer.body.replaceAll(/\s+/g, " ").trim().slice(0, MAX_MESSAGE);
    const reason = details.reason ?? "";
    super(status === 401 ? "API_UNAUTHORIZED" : "API_REJECTED", { server, method, path, status, reason, message });
    this.name = "ApiError";
    this.status = status;
    this.reason = reason;
    this.retryAfterSeconds = seconds(answer.retryAfterHeader) ?? details.retryAfterSeconds;
    this.method = method;
    this.path = path;
    this.detail = message;
  }
}

export function hasStatus(error: unknown, status: number): boolean {
  return error instanceof ApiError && error.status === status;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface StatusDetails {
  readonly reason?: string;
  readonly message?: string;
  readonly retryAfterSeconds?: number;
}

function readStatus(body: string): StatusDetails {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return {};
  }
  if (!isJsonObject(value) || value["kind"] !== "Status") return {};
  const { reason, message, details } = value;
  const retryAfter = isJsonObject(details) ? details["retryAfterSeconds"] : undefined;
  return {
    ...(typeof reason === "string" ? { reason } : {}),
    ...(typeof message === "string" ? { message } : {}),
    ...(typeof retryAfter === "number" ? { retryAfterSeconds: retryAfter } : {}),
  };
}

/** The API server sends seconds. The date form of Retry-After is ignored. */
function seconds(header: string | undefined): number | undefined {
  return header !== undefined && /^\d+$/.test(header) ? Number(header) : undefined;
}
