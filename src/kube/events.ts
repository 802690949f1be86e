// Records events.k8s.io/v1 Events. A repeated event becomes a series on the first Event instead of a new object.
// Recording never throws and never waits: dropping an Event (which is counted) is better than delaying a recovery.

import { randomBytes } from "node:crypto";
import type { JsonObject } from "../json/types.ts";
import { ApiError, hasStatus } from "./api-error.ts";
import { type Clock, systemClock } from "./clock.ts";
import { microTime } from "./micro-time.ts";
import { WorkQueue } from "./queue.ts";

/** The part of a client that the recorder uses. */
interface EventClient {
  request(
    method: "POST" | "PATCH",
    path: string,
    options: { readonly body: unknown; readonly contentType?: string },
  ): Promise<JsonObject>;
}

/** The object an Event is about. */
export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly fieldPath?: string;
}

export interface Occurrence {
  readonly regarding: ObjectReference;
  readonly related?: ObjectReference;
  readonly type: "Normal" | "Warning";
  /** Why, in CamelCase: the REASON column of kubectl. */
  readonly reason: string;
  /** The action taken, in CamelCase. */
  readonly action: string;
  /** Text for users. */
  readonly note: string;
}

export interface EventLimits {
  /** A repetition after a longer pause starts a new Event. */
  readonly windowMs: number;
  /** At most one update per series in this time. */
  readonly updateEveryMs: number;
  /** New Events: this many at once, then one per `refillMs`. */
  readonly burst: number;
  readonly refillMs: number;
}

const LIMITS: EventLimits = {
  // client-go's aggregation interval.
  windowMs: 10 * 60_000,
  updateEveryMs: 10_000,
  // A group restart records a few Events; the burst covers a node failure that hits a few dozen groups at once.
  burst: 100,
  refillMs: 1_000,
};

/** Series kept in memory, about 1 KB each. */
const MAX_SERIES = 1_000;
/** Delivery attempts before an Event is dropped. */
const MAX_ATTEMPTS = 5;
/** API limits: bytes of a note, characters of an object's name. */
const MAX_NOTE_BYTES = 1024;
const MAX_NAME = 253;

interface Series {
  readonly occurrence: Occurrence;
  readonly firstTime: string;
  /** Name of the Event object, once created. */
  name: string | undefined;
  count: number;
  sentCount: number;
  lastTime: string;
  lastAt: number;
  sentAt: number;
  attempts: number;
}

export interface EventRecorderOptions {
  readonly client: EventClient;
  /** For example reprise.dev/controller. */
  readonly reportingController: string;
  /** For example the Pod's name. */
  readonly reportingInstance: string;
  readonly onError: (error: unknown) => void;
  readonly limits?: Partial<EventLimits>;
  readonly clock?: Clock;
}

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #limits: EventLimits;
  readonly #clock: Clock;
  readonly #queue: WorkQueue;
  /** Ordered by last occurrence, oldest first. */
  readonly #series = new Map<string, Series>();
  #tokens: number;
  #refilledAt: number;
  #dropped = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#clock = options.clock ?? systemClock;
    this.#tokens = this.#limits.burst;
    this.#refilledAt = this.#clock.now();
    this.#queue = new WorkQueue({
      // Events share the connection pool with all other requests and must not crowd them out.
      concurrency: 2,
      process: (key) => this.#send(key),
      onError: (_key, error) => options.onError(error),
      clock: this.#clock,
    });
  }

  /** Events dropped before they were recorded. */
  get dropped(): number {
    return this.#dropped;
  }

  record(occurrence: Occurrence): void {
    const now = this.#clock.now();
    const key = keyOf(occurrence);
    const known = this.#series.get(key);
    if (known !== undefined && now - known.lastAt <= this.#limits.windowMs) {
      known.count += 1;
      known.lastAt = now;
      known.lastTime = microTime();
      this.#series.delete(key);
      this.#series.set(key, known);
      this.#queue.addAfter(key, known.sentAt + this.#limits.updateEveryMs - now);
      return;
    }
    if (known !== undefined) this.#forget(key, known);
    if (!this.#takeToken(now)) {
      this.#dropped += 1;
      return;
    }
    const oldest = this.#series.entries().next().value;
    if (this.#series.size >= MAX_SERIES && oldest !== undefined) this.#forget(...oldest);
    const time = microTime();
    this.#series.set(key, {
      occurrence,
      firstTime: time,
      name: undefined,
      count: 1,
      sentCount: 0,
      lastTime: time,
      lastAt: now,
      // The Event is sent at once; a repetition before that is sent with it.
      sentAt: now,
      attempts: 0,
    });
    this.#queue.add(key);
  }

  /** Sends everything unsent, once, and stops. */
  async stop(): Promise<void> {
    await this.#queue.stop();
    for (const [key, series] of this.#series) {
      if (series.sentCount < series.count) await this.#send(key).catch(this.#options.onError);
    }
  }

  #takeToken(now: number): boolean {
    const refill = Math.floor((now - this.#refilledAt) / this.#limits.refillMs);
    if (refill > 0) {
      this.#tokens = Math.min(this.#limits.burst, this.#tokens + refill);
      this.#refilledAt += refill * this.#limits.refillMs;
    }
    if (this.#tokens === 0) return false;
    this.#tokens -= 1;
    return true;
  }

  #forget(key: string, series: Series): void {
    this.#dropped += series.count - series.sentCount;
    this.#series.delete(key);
  }

  /** Creates or updates the Event on the server. Throws only errors that are worth a retry. */
  async #send(key: string): Promise<void> {
    const series = this.#series.get(key);
    if (series === undefined || series.sentCount === series.count) return;
    const { count } = series;
    series.sentAt = this.#clock.now();
    series.attempts += 1;
    try {
      if (series.name === undefined) await this.#create(series);
      else await this.#update(series, series.name);
      // An occurrence that was recorded meanwhile has queued the key again.
      series.sentCount = count;
      series.attempts = 0;
    } catch (error) {
      // The Event expired on the server (after an hour by default): the next attempt creates a new one.
      if (series.name !== undefined && hasStatus(error, 404)) series.name = undefined;
      else if (!isRetryable(error) || series.attempts >= MAX_ATTEMPTS) {
        this.#forget(key, series);
        this.#options.onError(error);
        return;
      }
      throw error;
    }
  }

  async #create(series: Series): Promise<void> {
    const { regarding, related, type, reason, action, note } = series.occurrence;
    const suffix = `.${randomBytes(8).toString("hex")}`;
    const name = regarding.name.slice(0, MAX_NAME - suffix.length) + suffix;
    const body = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name, namespace: namespaceOf(regarding) },
      eventTime: series.firstTime,
      reportingController: this.#options.reportingController,
      reportingInstance: this.#options.reportingInstance,
      regarding,
      ...(related === undefined ? {} : { related }),
      type,
      reason,
      action,
      note: truncate(note),
      ...(series.count > 1 ? { series: seriesOf(series) } : {}),
    };
    await this.#options.client.request("POST", collectionOf(regarding), { body });
    series.name = name;
  }

  async #update(series: Series, name: string): Promise<void> {
    const path = `${collectionOf(series.occurrence.regarding)}/${name}`;
    const body = { series: seriesOf(series) };
    await this.#options.client.request("PATCH", path, { body, contentType: "application/merge-patch+json" });
  }
}

function keyOf({ regarding, related, type, reason, action, note }: Occurrence): string {
  return JSON.stringify([regarding, related, type, reason, action, note]);
}

function seriesOf({ count, lastTime }: Series): JsonObject {
  return { count, lastObservedTime: lastTime };
}

function namespaceOf({ namespace }: ObjectReference): string {
  // kubectl looks here for Events of cluster-scoped objects.
  return namespace ?? "default";
}

function collectionOf(regarding: ObjectReference): string {
  return `/apis/events.k8s.io/v1/namespaces/${namespaceOf(regarding)}/events`;
}

function truncate(note: string): string {
  // The limit counts bytes; this cuts between characters.
  const { read } = new TextEncoder().encodeInto(note, new Uint8Array(MAX_NOTE_BYTES));
  return note.slice(0, read);
}

/** Invalid, forbidden, or the namespace is terminating: a retry would fail again. */
function isRetryable(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 409 || error.status === 429 || error.status >= 500;
}
