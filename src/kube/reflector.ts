// Keeps a projected copy of one collection and tells its consumer every change exactly once. It lists in pages, watches
// from where the list ended, resumes after any interruption, and lists again only when the server has forgotten its
// place. It never keeps a whole object, and never gives up.

import type { Json, JsonObject } from "../json/types.ts";
import { ApiError, hasStatus, isJsonObject } from "./api-error.ts";
import { type BackoffOptions, backoffDelay } from "./backoff.ts";
import { type Clock, pause, systemClock } from "./clock.ts";
import { lines } from "./lines.ts";
import { type Change, identify, ProjectedCache, type Sighting } from "./projected-cache.ts";

/** What the reflector needs of a client. */
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
  /** Silence after which a watch counts as dead. */
  readonly idleMs: number;
  /** A watch that lasted this long was healthy: the next failure starts with the shortest delay again. */
  readonly healthyMs: number;
  readonly backoff: BackoffOptions;
}

const TIMING: ReflectorTiming = {
  // client-go's range.
  watchSeconds: [300, 600],
  // The API server sends a bookmark about every 60 s, so two and a half of them may be late (a busy server) before a
  // proxy or server that holds the connection but delivers nothing is suspected. A machine that vanished is noticed by
  // TCP after 40 s. Not shorter, because bookmarks are no promise: a collection in which nothing changed since the
  // server started gets none (seen on 1.36). Then the suspicion is wrong and costs one request, no list.
  idleMs: 150_000,
  healthyMs: 30_000,
  // Short first delays, because a restarted API server is usually back within seconds; the cap bounds the time that
  // the group's state is out of date after a long outage.
  backoff: { initialMs: 200, maxMs: 10_000 },
};

/** client-go's page size: one page of Pods is some MB. */
const PAGE_SIZE = 500;

/** Where something went wrong: talking to the server, or in the code that was handed the objects. */
export type ReflectorStage = "list" | "watch" | "project" | "consume";

export interface ReflectorOptions<T> {
  readonly client: CollectionReader;
  /** The collection, e.g. /api/v1/pods or /apis/batch/v1/namespaces/team/jobs. */
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Picks what is kept. Must copy values, not hold on to parts of the object. */
  readonly project: (raw: JsonObject) => T;
  /** Called in order, after the cache holds the new state. What it throws is reported and changes nothing else. */
  readonly onChange: (change: Change<T>) => void;
  readonly onError: (error: unknown, stage: ReflectorStage) => void;
  /** For metrics: a list after the first one; a watch request after the first one. */
  readonly onRelist?: () => void;
  readonly onReconnect?: () => void;
  readonly timing?: Partial<ReflectorTiming>;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** A watch that was given up because nothing came; perhaps nothing happened. */
class Silent extends Error {
  override readonly name = "Silent";
}

/** The server can no longer continue from our place; only a new list helps. */
class PlaceLost extends Error {
  override readonly name = "PlaceLost";
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
  /** Ends the request in flight, and nothing else. */
  #attempt = new AbortController();
  #synced = false;
  /** Where the next watch begins; undefined means that a list is needed. */
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

  /** Nothing is delivered after this returns. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#attempt.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stopped) {
      this.#attempt = new AbortController();
      let minimumDelay = 0;
      let watchingSince: number | undefined;
      let stage: ReflectorStage = "list";
      try {
        if (this.#resourceVersion === undefined) this.#resourceVersion = await this.#list();
        stage = "watch";
        watchingSince = this.#clock.now();
        await this.#watch(this.#resourceVersion);
      } catch (error) {
        if (this.#stopped) return;
        if (error instanceof PlaceLost || hasStatus(error, 410)) {
          // A list that expired between two pages would expire again: take the next one in a single page.
          this.#pageSize = stage === "list" ? 0 : PAGE_SIZE;
          this.#resourceVersion = undefined;
        } else if (!(error instanceof Silent)) {
          this.#options.onError(error, stage);
        }
        minimumDelay = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
      }
      if (watchingSince !== undefined && this.#clock.now() - watchingSince >= this.#timing.healthyMs) failures = 0;
      else failures += 1;
      // A healthy watch that ended resumes at once; anything shorter waits, however politely it was closed.
      const delay = failures === 0 ? 0 : backoffDelay(this.#timing.backoff, failures, this.#random);
      await pause(this.#clock, Math.max(minimumDelay, delay), this.#stop.signal);
    }
  }

  get #stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** A consistent list (no resourceVersion: never older than anything seen before). Returns where to watch from. */
  async #list(): Promise<string> {
    this.#lists += 1;
    if (this.#lists > 1) this.#options.onRelist?.();
    const listed = new Map<string, Sighting<T>>();
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
        const sighting = this.#see(raw);
        if (sighting === undefined) unprojectable.add(key);
        else listed.set(key, sighting);
      }
    } while (next !== undefined && !this.#stopped);
    if (this.#stopped) throw this.#stop.signal.reason;

    this.#pageSize = PAGE_SIZE;
    this.#deliver(this.#cache.replace(listed, unprojectable));
    this.#synced = true;
    this.#whenSynced.resolve();
    return resourceVersion;
  }

  /** Returns when the server ends the watch in its own time. */
  async #watch(resourceVersion: string): Promise<void> {
    this.#watches += 1;
    if (this.#watches > 1) this.#options.onReconnect?.();
    const [min, max] = this.#timing.watchSeconds;
    const attempt = this.#attempt;
    const idle = () => attempt.abort(new Silent(`no bytes for ${this.#timing.idleMs} ms`));
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
      for await (const line of lines(noticing(body, restartIdle))) {
        // Lines already received may be left when stop() is called.
        if (this.#stopped) return;
        this.#ingest(line);
      }
    } catch (error) {
      // The stream reports an abort as its own failure; the reason given above says more.
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
        this.#deliver(this.#cache.remove(identify(object), this.#see(object)));
        break;
      default: {
        const sighting = this.#see(object);
        if (sighting !== undefined) this.#deliver(this.#cache.upsert(sighting));
      }
    }
    // Only now: an event that could not be read is asked for again.
    this.#resourceVersion = versionOf(object) ?? this.#resourceVersion;
  }

  /** Besides 410, any error inside a stream may repeat at the same place for ever; a list gets past it. */
  #streamError(status: JsonObject): PlaceLost {
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
    return new PlaceLost(error.message, { cause: error });
  }

  #see(raw: JsonObject): Sighting<T> | undefined {
    try {
      return this.#cache.see(raw);
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

async function* noticing(chunks: AsyncIterable<Uint8Array>, notice: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    notice();
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
