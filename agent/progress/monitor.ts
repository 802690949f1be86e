// Watches the progress of the worker while its epoch runs, and reports to the API server only when the judgment has
// changed. Nothing depends on it: it delays neither the barrier nor a restart, and an API server that refuses a report
// is asked again later.
import type { HangReport } from "../../src/api/hang-report.ts";
import { reasonOf } from "../../src/errors.ts";
import type { Log } from "../log.ts";
import { Retry } from "../retry.ts";
import {
  type HangLimits,
  type Judgment,
  judge,
  look,
  type Progress,
  type Sighting,
  startProgress,
} from "./decide-progress.ts";

interface MonitorEffects {
  /** One look at the worker. May fail, or never answer. */
  look(): Promise<Sighting>;
  /** Undefined removes the report. Resolves when the API server has confirmed it. */
  report(report: HangReport | undefined): Promise<void>;
  sleep(ms: number): Promise<void>;
  /** Monotonic, in milliseconds. */
  now(): number;
  /** Milliseconds since 1970. */
  wallClock(): number;
  random(): number;
}

interface MonitorOptions {
  readonly limits: HangLimits;
  /** Between two looks. */
  readonly periodMs: number;
  readonly groupSize: number;
  /** What is looked at, for the log. */
  readonly what: string;
}

/** A look that takes longer has failed. */
const LOOK_TIMEOUT_MS = 30_000;

export class ProgressMonitor {
  readonly #effects: MonitorEffects;
  readonly #options: MonitorOptions;
  readonly #log: Log;
  readonly #reporting: Retry;
  /** When the look that is under way has begun, on the monotonic clock. */
  #lookingSince: number | undefined;
  #before: Sighting | undefined;
  /** What the API server has. Undefined while it is not known, because a request has failed. */
  #reported: Judgment | undefined = "moving";
  #isReporting = false;
  #retryAt = 0;
  #lastProblem = "";
  #watched: { readonly epoch: number; readonly progress: Progress } | undefined;

  constructor(effects: MonitorEffects, options: MonitorOptions, log: Log) {
    this.#effects = effects;
    this.#options = options;
    this.#log = log;
    const message = "cannot report about progress, retrying";
    this.#reporting = new Retry({ message, groupSize: options.groupSize, random: () => effects.random(), log });
  }

  /** For people: since how many seconds the worker is at its step. Undefined before the barrier lifts. */
  describe(): string | undefined {
    if (this.#watched === undefined) return undefined;
    const { epoch, progress } = this.#watched;
    const { armed, step, rank, stalledMs } = progress;
    const seconds = Math.floor(stalledMs / 1_000);
    return JSON.stringify({ epoch, reports: armed, step, rank, seconds });
  }

  /** What earlier runs of the Pod have left. Resolves soon, also if the look takes long. */
  async lookBefore(): Promise<Sighting | undefined> {
    const looked = new Promise<void>((resolve) => {
      this.#look((sighting) => {
        this.#before = sighting;
        resolve();
      });
    });
    await Promise.race([looked, this.#effects.sleep(FIRST_LOOK_MS)]);
    return this.#before;
  }

  /** The workers of this epoch are about to start. */
  async watch(epoch: number): Promise<never> {
    let progress = startProgress(this.#before, this.#time);
    this.#watched = { epoch, progress };
    const see = (sighting: Sighting) => {
      const { armed } = progress;
      progress = look(progress, sighting, this.#time);
      this.#watched = { epoch, progress };
      const { what, limits } = this.#options;
      if (progress.armed && !armed) this.#log.info("the worker reports its progress", { epoch, what });
      this.#noteProblem(sighting, progress);
      this.#report(epoch, judge(progress, limits), progress);
    };
    for (;;) {
      await this.#effects.sleep(this.#options.periodMs);
      this.#look(see);
    }
  }

  get #time() {
    return { mono: this.#effects.now(), wall: this.#effects.wallClock() };
  }

  /** One at a time: a file server that is away may never answer. */
  #look(see: (sighting: Sighting) => void): void {
    const now = this.#effects.now();
    if (this.#lookingSince !== undefined) {
      if (now - this.#lookingSince >= LOOK_TIMEOUT_MS) see(NO_ANSWER);
      return;
    }
    this.#lookingSince = now;
    void this.#effects
      .look()
      .catch((error: unknown): Sighting => ({ kind: "unreadable", reason: reasonOf(error) }))
      .then((sighting) => {
        this.#lookingSince = undefined;
        see(sighting);
      });
  }

  /** Once for each problem, and not for one that the worker may still solve. */
  #noteProblem(sighting: Sighting, { armed }: Progress): void {
    const isGone = sighting.kind === "absent" && armed;
    if (sighting.kind !== "unreadable" && !isGone) return;
    const reason = sighting.kind === "unreadable" ? sighting.reason : "it is gone";
    if (reason === this.#lastProblem) return;
    this.#lastProblem = reason;
    this.#log.warn("cannot see the progress of the worker, not judging it", { what: this.#options.what, reason });
  }

  /** Does not wait: the next look must not be late. */
  #report(epoch: number, judgment: Judgment, { since, step, rank }: Progress): void {
    if (judgment === this.#reported || this.#isReporting || this.#effects.now() < this.#retryAt) return;
    this.#isReporting = true;
    const report: HangReport | undefined =
      judgment === "moving"
        ? undefined
        : {
            epoch,
            state: judgment,
            since,
            ...(step === undefined ? {} : { step }),
            ...(rank === undefined ? {} : { rank }),
          };
    void this.#effects
      .report(report)
      .then(
        () => {
          this.#reported = judgment;
          this.#reporting.reached("progress");
          this.#log.info("reported", { epoch, judgment, step, rank });
        },
        (error: unknown) => {
          // The request may have had its effect.
          this.#reported = undefined;
          this.#retryAt = this.#effects.now() + this.#reporting.failed(error, true);
        },
      )
      .finally(() => {
        this.#isReporting = false;
      });
  }
}

const NO_ANSWER: Sighting = { kind: "unreadable", reason: "no answer" };

/** The barrier may not wait for a slow file server. */
const FIRST_LOOK_MS = 1_000;

/** Two looks per second at most: a verdict is at most that late, and a worker that moves again is heard in time. */
export function periodFor({ hangAfter, startDeadline = MOST_PERIOD_MS * PERIODS }: HangLimits): number {
  const shortest = hangAfter === "learned" ? startDeadline : Math.min(hangAfter, startDeadline);
  return Math.max(LEAST_PERIOD_MS, Math.min(MOST_PERIOD_MS, shortest / PERIODS));
}

const MOST_PERIOD_MS = 500;
const LEAST_PERIOD_MS = 100;

/** Looks within the shortest limit. */
const PERIODS = 16;
