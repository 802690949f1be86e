// Keeps the serving certificate up to date: a watch on the directory for speed, a poll because watches can be lost. An
// unusable pair never replaces a usable one.
import { type FSWatcher, watch } from "node:fs";
import { reasonOf } from "../errors.ts";
import type { Logger } from "../telemetry/log.ts";
import { readPair, type ServingPair } from "./certificate.ts";
import type { WebhookMetrics } from "./metrics.ts";

/** The interval of cert-manager and controller-runtime. Renewals overlap by hours, so it need not be shorter. */
const POLL_MS = 10_000;

/** A swap of the mounted Secret causes five file events; wait for the last one. */
const SETTLE_MS = 50;

/** A poll takes milliseconds. One that is this late means that timers or the disk have stopped working. */
const STALLED_AFTER_MS = 6 * POLL_MS;

export interface CertificateWatchOptions {
  readonly directory: string;
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
  /** Called for each new usable pair. */
  readonly onPair: (pair: ServingPair) => void;
  readonly pollMs?: number;
}

export class CertificateWatch {
  readonly #options: CertificateWatchOptions;
  readonly #pollMs: number;
  #pair: ServingPair | undefined;
  #problem = "not read yet";
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #reading = false;
  #changedMeanwhile = false;
  #lastPoll = 0;
  #stopped = false;

  constructor(options: CertificateWatchOptions) {
    this.#options = options;
    this.#pollMs = options.pollMs ?? POLL_MS;
  }

  /** Reads the pair once, whether or not it exists yet, and keeps watching until stopped. */
  async start(): Promise<void> {
    await this.#poll();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#watcher?.close();
  }

  /** Why TLS cannot be served now; undefined if it can. */
  notReady(now: Date): string | undefined {
    if (this.#pair === undefined) return `no usable certificate in ${this.#options.directory}: ${this.#problem}`;
    const { notAfter } = this.#pair;
    if (notAfter > now) return undefined;
    return `the certificate expired at ${notAfter.toISOString()} and no usable one replaced it: ${this.#problem}`;
  }

  /** Why the watch itself has stopped; undefined if it runs. */
  stalled(): string | undefined {
    const late = performance.now() - this.#lastPoll;
    return late > STALLED_AFTER_MS ? `the certificate was last checked ${Math.round(late / 1000)} s ago` : undefined;
  }

  async #poll(): Promise<void> {
    this.#reading = true;
    this.#changedMeanwhile = false;
    // Started before the read, so that a change during the read is not missed.
    this.#watchDirectory();
    await this.#read();
    this.#lastPoll = performance.now();
    this.#reading = false;
    this.#pollAfter(this.#changedMeanwhile ? SETTLE_MS : this.#pollMs);
  }

  #onFileEvent(): void {
    if (this.#reading) this.#changedMeanwhile = true;
    else this.#pollAfter(SETTLE_MS);
  }

  /** Replaces the pending timer. */
  #pollAfter(ms: number): void {
    clearTimeout(this.#timer);
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#poll(), ms);
  }

  async #read(): Promise<void> {
    const { directory, log, metrics, onPair } = this.#options;
    try {
      const pair = await readPair(directory, new Date());
      if (pair.cert === this.#pair?.cert && pair.key === this.#pair.key) return;
      onPair(pair);
      this.#pair = pair;
      this.#problem = "there is no newer one";
      metrics.certificateLoaded(pair.notAfter);
      log.info({ directory, notAfter: pair.notAfter }, "certificate loaded");
    } catch (error) {
      const problem = reasonOf(error);
      // Every poll finds the same state; it is logged once.
      if (problem === this.#problem) return;
      this.#problem = problem;
      metrics.certificateRejected();
      const message =
        this.#pair === undefined ? "waiting for a certificate" : "new certificate is not usable, keeping the old one";
      log.warn({ directory, problem }, message);
    }
  }

  #watchDirectory(): void {
    if (this.#watcher !== undefined || this.#stopped) return;
    const lost = () => {
      this.#watcher?.close();
      this.#watcher = undefined;
    };
    try {
      // If the directory itself is replaced, the watch never fires again: the poll finds the new one.
      this.#watcher = watch(this.#options.directory, () => this.#onFileEvent());
      this.#watcher.on("error", lost);
    } catch {
      // The directory does not exist yet, or no watches are left: the poll takes over.
      lost();
    }
  }
}
