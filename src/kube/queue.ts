// A work queue: a key is never processed twice at the same time, a key added many times runs once, a busy key rests
// between two runs, and a failing key is retried with backoff. The queue knows nothing about the meaning of a key.

import { type BackoffOptions, backoffDelay } from "./backoff.ts";
import { type Clock, systemClock } from "./clock.ts";

export interface WorkQueueOptions {
  /** Reconciles the key. Throwing means: retry with backoff. */
  readonly process: (key: string) => Promise<void>;
  readonly onError: (key: string, error: unknown, failures: number) => void;
  readonly concurrency?: number;
  /**
   * The least time between two starts of the same key, in milliseconds. A key that has not run for so long starts at
   * once. A key whose work occupies the thread rests longer, so that it leaves most of the time to the others.
   */
  readonly restMs?: number;
  readonly backoff?: BackoffOptions;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/**
 * Decisions take microseconds, and the rest of the time is the API server's. When a hundred groups fail together, it
 * may take most of a second for each write.
 */
const CONCURRENCY = 32;

/** The next watch event resolves a conflict within milliseconds; a lasting failure costs two calls a minute. */
const BACKOFF: BackoffOptions = { initialMs: 50, maxMs: 30_000 };

/**
 * A key may occupy the thread for a tenth of the time. Its rest has a limit, because work also takes long when other
 * programs take the CPU, and a restart must not wait for that.
 */
const REST_FACTOR = 10;
const LONGEST_REST_MS = 100;

interface Delayed {
  readonly dueAt: number;
  readonly cancel: () => void;
}

export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #concurrency: number;
  readonly #backoff: BackoffOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  /** Keys that wait for a free worker, in order of arrival. */
  readonly #waiting = new Set<string>();
  readonly #processing = new Set<string>();
  /** Keys added while they were being processed. */
  readonly #again = new Set<string>();
  /** Keys that have just been processed, and whether they were added since. */
  readonly #resting = new Map<string, { readonly cancel: () => void; isAdded: boolean }>();
  readonly #delayed = new Map<string, Delayed>();
  readonly #failures = new Map<string, number>();
  #idle = Promise.withResolvers<void>();
  #stopped = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#concurrency = options.concurrency ?? CONCURRENCY;
    this.#backoff = options.backoff ?? BACKOFF;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
  }

  /** Number of waiting keys, for metrics. */
  get depth(): number {
    return this.#waiting.size + this.#again.size + [...this.#resting.values()].filter(({ isAdded }) => isAdded).length;
  }

  /** Runs the key as soon as possible, even if it waits for a retry. */
  add(key: string): void {
    if (this.#stopped) return;
    const resting = this.#resting.get(key);
    if (resting !== undefined) {
      resting.isAdded = true;
      return;
    }
    if (this.#processing.has(key)) this.#again.add(key);
    else this.#waiting.add(key);
    this.#dispatch();
  }

  /** Runs the key after `ms`. The earliest of several delays wins. */
  addAfter(key: string, ms: number): void {
    if (this.#stopped) return;
    if (ms <= 0) {
      this.add(key);
      return;
    }
    const dueAt = this.#clock.now() + ms;
    const earlier = this.#delayed.get(key);
    if (earlier !== undefined && earlier.dueAt <= dueAt) return;
    earlier?.cancel();
    const cancel = this.#clock.after(ms, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { dueAt, cancel });
  }

  /** Resolves when no key waits or runs. Keys that are delayed or rest do not count. */
  drain(): Promise<void> {
    return this.#isIdle ? Promise.resolve() : this.#idle.promise;
  }

  /** Accepts no more keys, drops waiting ones, and resolves when the running ones are done. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    for (const { cancel } of this.#resting.values()) cancel();
    this.#resting.clear();
    this.#waiting.clear();
    this.#again.clear();
    await this.drain();
  }

  get #isIdle(): boolean {
    return this.#waiting.size === 0 && this.#processing.size === 0 && this.#again.size === 0;
  }

  #dispatch(): void {
    for (const key of this.#waiting) {
      if (this.#processing.size >= this.#concurrency) return;
      this.#waiting.delete(key);
      this.#processing.add(key);
      void this.#process(key);
    }
  }

  async #process(key: string): Promise<void> {
    const startedAt = this.#clock.now();
    let busyMs = 0;
    try {
      const done = this.#options.process(key);
      busyMs = this.#clock.now() - startedAt;
      await done;
      this.#failures.delete(key);
    } catch (error) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      this.#options.onError(key, error, failures);
      this.addAfter(key, backoffDelay(this.#backoff, failures, this.#random));
    }
    this.#processing.delete(key);
    this.#rest(key, startedAt + this.#restMs(busyMs), this.#again.has(key));
    if (!this.#resting.has(key) && this.#again.delete(key)) this.#waiting.add(key);
    this.#dispatch();
    if (this.#isIdle) {
      this.#idle.resolve();
      this.#idle = Promise.withResolvers<void>();
    }
  }

  #restMs(busyMs: number): number {
    const { restMs = 0 } = this.#options;
    return restMs === 0 ? 0 : Math.max(restMs, Math.min(busyMs * REST_FACTOR, LONGEST_REST_MS));
  }

  #rest(key: string, until: number, isAdded: boolean): void {
    const ms = until - this.#clock.now();
    if (ms <= 0 || this.#stopped) return;
    this.#again.delete(key);
    const cancel = this.#clock.after(Math.ceil(ms), () => {
      const isAddedNow = this.#resting.get(key)?.isAdded === true;
      this.#resting.delete(key);
      // A timer may fire early, because Node.js reads the clock once per turn.
      this.#rest(key, until, isAddedNow);
      if (isAddedNow && !this.#resting.has(key)) this.add(key);
    });
    this.#resting.set(key, { cancel, isAdded });
  }
}
