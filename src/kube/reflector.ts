// Keeps a projected copy of one collection and reports every change exactly once. It lists in pages, watches from the
// list's resourceVersion, resumes after interruptions (at once if the server ended the watch), and lists again only
// after its resourceVersion has expired. It never keeps a whole object and never gives up.

import type { Change } from "../api/change.ts";
import type { Json, JsonObject } from "../json/types.ts";
import { ApiError, hasStatus, isJsonObject } from "./api-error.ts";
import { type BackoffOptions, backoffDelay } from "./backoff.ts";
import { type Clock, pause, systemClock } from "./clock.ts";
import { lines } from "./lines.ts";
import { identify, type Observed, ProjectedCache } from "./projected-cache.ts";

/** The part of a client that the reflector uses. */
export interface CollectionReader {
  readonly server: string;
  request(
    method: "GET",
    path: string,
    options: { readonly query: CollectionQuery; readonly signal: AbortSignal },
  ): Promise<JsonObject>;
  stream(
    path: string,
    options: { readonly query: CollectionQuery; readonly signal: AbortSignal },
  ): Promise<AsyncIterable<Uint8Array>>;
}

export type CollectionQuery = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ReflectorTiming {
  /** The server ends each watch after a random time in this range, so that many watches do not end together. */
  readonly watchSeconds: readonly [min: number, max: number];
  /** A watch without data for this long counts as dead. */
  readonly idleMs: number;
  /** After a watch that lasted this long, backoff starts from the beginning. */
  readonly healthyMs: number;
  /** A server that ends each watch sooner than this, and sends nothing, is not asked again at once. */
  readonly shortestMs: number;
  readonly backoff: BackoffOptions;
}

const TIMING: ReflectorTiming = {
  // client-go's range.
  watchSeconds: [300, 600],
  // The API server sends a bookmark about every 60 s, so two may be late before the connection is suspected. TCP
  // notices a lost machine after 40 s. No shorter, because bookmarks are not guaranteed: Kubernetes 1.36 sends none for
  // a collection that has not changed since the server started. A wrong suspicion costs one watch request, no list.
  idleMs: 150_000,
  healthyMs: 30_000,
  // client-go's limit.
  shortestMs: 1_000,
  // Short first delays, because a restarted API server is usually back within seconds; the maximum bounds how long the
  // state is stale after an outage.
  backoff: { initialMs: 200, maxMs: 10_000 },
};

/** client-go's page size. A page of Pods is a few MB. */
const PAGE_SIZE = 500;

/**
 * Why a watch is opened again: the server ended it, no data arrived, its resourceVersion had expired, or a request
 * failed.
 */
export const RECONNECT_REASONS = ["ended", "idle", "expired", "error"] as const;
export type ReconnectReason = (typeof RECONNECT_REASONS)[number];

/** Where an error occurred: in a request, or in the code that received the objects. */
export type ReflectorStage = "list" | "watch" | "project" | "consume";

export interface ReflectorOptions<T> {
  readonly client: CollectionReader;
  /** The collection, for example /api/v1/pods or /apis/batch/v1/namespaces/team/jobs. */
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Selects what the cache keeps. Must copy values, not reference parts of the object. */
  readonly project: (raw: JsonObject) => T;
  /** Called in order, after the cache is updated. Errors are reported and have no other effect. */
  readonly onChange: (change: Change<T>) => void;
  readonly onError: (error: unknown, stage: ReflectorStage) => void;
  /** For metrics: called for each list and each watch request after the first. */
  readonly onRelist?: () => void;
  readonly onReconnect?: (reason: ReconnectReason) => void;
  readonly timing?: Partial<ReflectorTiming>;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** A watch was closed because no data arrived. Perhaps nothing happened. */
class IdleTimeout extends Error {
  override readonly name = "IdleTimeout";
}

/** The server cannot resume from our resourceVersion. Only a new list helps. */
class ResourceVersionExpired extends Error {
  override readonly name = "ResourceVersionExpired";
}

export class Reflector<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #timing: ReflectorTiming;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #cache: ProjectedCache<T>;
  readonly #whenSynced = Promise.withResolvers<void>();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  /** Aborts only the request in flight. */
  #attempt = new AbortController();
  #synced = false;
  /** Where the next watch starts; undefined if a list is needed. */
  #resourceVersion: string | undefined;
  #pageSize = PAGE_SIZE;
  #lists = 0;
  #watches = 0;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#cache = new ProjectedCache(options.project);
  }

  /** True once the first complete list was delivered. */
  get synced(): boolean {
    return this.#synced;
  }

  /** Resolves with the first complete list; stays pending when stopped before. */
  whenSynced(): Promise<void> {
    return this.#whenSynced.promise;
  }

  get size(): number {
    return this.#cache.size;
  }

  get(key: string): T | undefined {
    return this.#cache.get(key);
  }

  values(): Iterable<T> {
    return this.#cache.values();
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** No change is reported after this resolves. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#attempt.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    let failures = 0;
    let reason: ReconnectReason = "error";
    while (!this.#stopped) {
      this.#attempt = new AbortController();
      let minimumDelay = 0;
      let watchingSince: number | undefined;
      let watchedFrom: string | undefined;
      let stage: ReflectorStage = "list";
      try {
        watchedFrom = this.#resourceVersion ?? (await this.#list());
        this.#resourceVersion = watchedFrom;
        stage = "watch";
        watchingSince = this.#clock.now();
        await this.#watch(watchedFrom, reason);
        reason = "ended";
      } catch (error) {
        if (this.#stopped) return;
        reason = reasonOf(error);
        if (reason === "expired") {
          // A list that expired between two pages would expire again: request the next one as a single page.
          this.#pageSize = stage === "list" ? 0 : PAGE_SIZE;
          this.#resourceVersion = undefined;
        } else if (reason === "error") {
          this.#options.onError(error, stage);
        }
        minimumDelay = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
      }
      const watchedMs = watchingSince === undefined ? 0 : this.#clock.now() - watchingSince;
      // After a burst the API server ends watches that could not keep up. Whoever waits then misses failures.
      const hasProgressed = this.#resourceVersion !== undefined && this.#resourceVersion !== watchedFrom;
      const isPolite = reason === "ended" && (hasProgressed || watchedMs >= this.#timing.shortestMs);
      if (isPolite || watchedMs >= this.#timing.healthyMs) failures = 0;
      else failures = hasProgressed ? 1 : failures + 1;
      const delay = failures === 0 ? 0 : backoffDelay(this.#timing.backoff, failures, this.#random);
      await pause(this.#clock, Math.max(minimumDelay, delay), this.#stop.signal);
    }
  }

  get #stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** A consistent list (no resourceVersion: at least as new as anything seen before). Returns where to watch from. */
  async #list(): Promise<string> {
    this.#lists += 1;
    if (this.#lists > 1) this.#options.onRelist?.();
    const listed = new Map<string, Observed<T>>();
    const unprojectable = new Set<string>();
    let resourceVersion: string;
    let next: string | undefined;
    do {
      const page = await this.#options.client.request("GET", this.#options.path, {
        query: { ...this.#selectors(), limit: this.#pageSize || undefined, continue: next },
        signal: this.#attempt.signal,
      });
      const position = pagePosition(page);
      resourceVersion = position.resourceVersion;
      next = position.next;
      for (const raw of objects(page["items"])) {
        const { key } = identify(raw);
        const observed = this.#observe(raw);
        if (observed === undefined) unprojectable.add(key);
        else listed.set(key, observed);
      }
    } while (next !== undefined && !this.#stopped);
    if (this.#stopped) throw this.#stop.signal.reason;

    this.#pageSize = PAGE_SIZE;
    this.#deliver(this.#cache.replace(listed, unprojectable));
    this.#synced = true;
    this.#whenSynced.resolve();
    return resourceVersion;
  }

  /** Returns when the server ends the watch. */
  async #watch(resourceVersion: string, reason: ReconnectReason): Promise<void> {
    this.#watches += 1;
    if (this.#watches > 1) this.#options.onReconnect?.(reason);
    const [min, max] = this.#timing.watchSeconds;
    const attempt = this.#attempt;
    const idle = () => attempt.abort(new IdleTimeout(`no data for ${this.#timing.idleMs} ms`));
    let cancelIdle = this.#clock.after(this.#timing.idleMs, idle);
    const restartIdle = () => {
      cancelIdle();
      cancelIdle = this.#clock.after(this.#timing.idleMs, idle);
    };
    try {
      const body = await this.#options.client.stream(this.#options.path, {
        query: {
          ...this.#selectors(),
          watch: true,
          allowWatchBookmarks: true,
          resourceVersion,
          timeoutSeconds: Math.round(min + this.#random() * (max - min)),
        },
        signal: attempt.signal,
      });
      for await (const line of lines(onEachChunk(body, restartIdle))) {
        // Lines may already be buffered when stop() is called.
        if (this.#stopped) return;
        this.#ingest(line);
      }
    } catch (error) {
      // The stream reports the abort as its own error; the abort reason is more precise.
      if (attempt.signal.aborted && !this.#stopped) throw attempt.signal.reason;
      throw error;
    } finally {
      cancelIdle();
    }
  }

  #ingest(line: string): void {
    const event: unknown = JSON.parse(line);
    const object = isJsonObject(event) ? event["object"] : undefined;
    if (!isJsonObject(event) || !isJsonObject(object)) throw new Error(`not a watch event: ${line.slice(0, 120)}`);
    switch (event["type"]) {
      case "BOOKMARK":
        break;
      case "ERROR":
        throw this.#streamError(object);
      case "DELETED":
        this.#deliver(this.#cache.remove(identify(object), this.#observe(object)));
        break;
      default: {
        const observed = this.#observe(object);
        if (observed !== undefined) this.#deliver(this.#cache.upsert(observed));
      }
    }
    // Only now: an event that could not be parsed is requested again.
    this.#resourceVersion = versionOf(object) ?? this.#resourceVersion;
  }

  /** Besides 410, any error inside a stream may repeat at the same resourceVersion forever. A list gets past it. */
  #streamError(status: JsonObject): ResourceVersionExpired {
    const code = typeof status["code"] === "number" ? status["code"] : 500;
    const { server } = this.#options.client;
    const error = new ApiError({
      server,
      method: "WATCH",
      path: this.#options.path,
      status: code,
      body: JSON.stringify(status),
    });
    if (code !== 410) this.#options.onError(error, "watch");
    return new ResourceVersionExpired(error.message, { cause: error });
  }

  #observe(raw: JsonObject): Observed<T> | undefined {
    try {
      return this.#cache.observe(raw);
    } catch (error) {
      this.#options.onError(error, "project");
      return undefined;
    }
  }

  #deliver(changes: Iterable<Change<T>>): void {
    for (const change of changes) {
      try {
        this.#options.onChange(change);
      } catch (error) {
        this.#options.onError(error, "consume");
      }
    }
  }

  #selectors(): CollectionQuery {
    return { labelSelector: this.#options.labelSelector, fieldSelector: this.#options.fieldSelector };
  }
}

function reasonOf(error: unknown): ReconnectReason {
  if (error instanceof ResourceVersionExpired || hasStatus(error, 410)) return "expired";
  return error instanceof IdleTimeout ? "idle" : "error";
}

async function* onEachChunk(chunks: AsyncIterable<Uint8Array>, notify: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    notify();
    yield chunk;
  }
}

function pagePosition(page: JsonObject): { resourceVersion: string; next: string | undefined } {
  const metadata = page["metadata"];
  const resourceVersion = versionOf(page);
  if (!isJsonObject(metadata) || resourceVersion === undefined)
    throw new Error("a list without metadata.resourceVersion");
  const next = metadata["continue"];
  return { resourceVersion, next: typeof next === "string" && next !== "" ? next : undefined };
}

function versionOf(object: JsonObject): string | undefined {
  const metadata = object["metadata"];
  const version = isJsonObject(metadata) ? metadata["resourceVersion"] : undefined;
  return typeof version === "string" && version !== "" ? version : undefined;
}

function* objects(items: Json | undefined): Generator<JsonObject, void, undefined> {
  if (!Array.isArray(items)) return;
  for (const item of items) if (isJsonObject(item)) yield item;
}
