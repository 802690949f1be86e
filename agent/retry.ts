// When an agent sends a refused request again. Each step of an agent retries for itself, so that a refused write does
// not repeat the watch.
import { reasonOf } from "../src/errors.ts";
import { RequestError } from "./api/request-error.ts";
import type { Log } from "./log.ts";

/**
 * The first retry is quick, because a recovery may wait for it. In a large group all agents ask at once, and a
 * millisecond for each Pod is what an API server takes for its request.
 */
const FIRST_MS = 50;
const MOST_MS = 5_000;
const MS_PER_POD = 1;

/** Three doublings of the first delay of a large group. */
const MOST_MS_PER_POD = 8 * MS_PER_POD;

/**
 * After reprise is uninstalled, the agents of running Pods get 403 or 404 for the rest of their lives. A running worker
 * can wait this long until its agent has access again; at 60 s, ten thousand agents send 200 requests a second.
 */
const NO_ACCESS_MOST_MS = 60_000;
const NO_ACCESS: ReadonlySet<number | undefined> = new Set([403, 404]);

interface RetryOptions {
  /** What is logged when a request fails, once for each reason. */
  readonly message: string;
  readonly groupSize: number;
  readonly random: () => number;
  readonly log: Log;
}

export class Retry {
  readonly #options: RetryOptions;
  #failures = 0;
  /** The last error that was logged; empty once a request has succeeded. */
  #lastError = "";

  constructor(options: RetryOptions) {
    this.#options = options;
  }

  /** Logs the error, and returns how long to wait. `isRelaxed`: nobody waits for this agent. */
  failed(error: unknown, isRelaxed: boolean): number {
    const { message, groupSize, random, log } = this.#options;
    const reason = reasonOf(error);
    if (reason !== this.#lastError) log.warn(message, { reason });
    this.#lastError = reason;
    this.#failures += 1;
    const first = Math.max(FIRST_MS, MS_PER_POD * groupSize);
    const most = Math.max(MOST_MS, MOST_MS_PER_POD * groupSize, isRelaxed && isNoAccess(error) ? NO_ACCESS_MOST_MS : 0);
    // Full jitter: all agents were refused at the same moment, and were told the same Retry-After.
    const spread = random() * Math.min(most, first * 2 ** (this.#failures - 1));
    return spread + (error instanceof RequestError ? (error.retryAfterMs ?? 0) : 0);
  }

  /** The server answers. Returns whether it did not before. The next delay is short only after real progress. */
  reached(progress: "progress" | "no progress"): boolean {
    if (progress === "progress") this.#failures = 0;
    const wasAway = this.#lastError !== "";
    this.#lastError = "";
    return wasAway;
  }
}

export function isNoAccess(error: unknown): boolean {
  return error instanceof RequestError && NO_ACCESS.has(error.status);
}
