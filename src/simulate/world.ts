// What all parts of a simulation share: time, randomness, the API server, the timeline and the judge.
import type { Unreachable } from "../api/node.ts";
import { ApiServer } from "./api-server.ts";
import { FailureOrder } from "./failure-order.ts";
import { Judge } from "./judge.ts";
import { Random } from "./random.ts";
import { Schedule } from "./schedule.ts";
import type { Moment } from "./timeline.ts";
import { Training } from "./training.ts";

/** The clock time at which every run starts. A fixed one keeps runs comparable. */
const BEGINNING = Date.UTC(2026, 0, 1);

/** Slow watches lag by up to 3 s, and reconnect within 1 s after an outage. */
const MOST_LAG_MS = 5_000;

export class World {
  readonly schedule = new Schedule();
  readonly random: Random;
  readonly api: ApiServer;
  readonly judge: Judge;
  readonly training: Training;
  readonly failures: FailureOrder = new FailureOrder((breach) => this.tell("JUDGE", breach));
  readonly moments: Moment[] = [];
  /** The nodes without power, and those of them that are known to be lost. */
  readonly poweredOff = new Set<string>();
  readonly unreachable = new Map<string, Unreachable>();
  /** Exit codes that fail the JobSet, and the Pods that have failed with one. */
  finalCodes: ReadonlySet<number> = new Set();
  readonly finalExits: string[] = [];
  /** reprise was removed from the cluster, and with it the type of its objects. */
  isRemoved = false;
  #uids = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.api = new ApiServer(this.schedule, this.random);
    const judged = (breach: string) => this.tell("JUDGE", breach);
    this.training = new Training({
      now: () => this.schedule.now,
      visibleAt: () => this.visibleAt,
      isSteady: () => this.api.isSteady,
      breach: (what) => this.judge.report(what),
    });
    this.judge = new Judge(judged, () => this.schedule.now, this.training);
  }

  /** Clock time in milliseconds since 1970. */
  get clock(): number {
    return BEGINNING + this.schedule.now;
  }

  /** When every watch has delivered what happens now, in milliseconds since the start. */
  get visibleAt(): number {
    return Math.max(this.schedule.now, this.api.outageUntil) + MOST_LAG_MS;
  }

  uid(kind: string): string {
    this.#uids += 1;
    return `${kind}-${this.#uids}`;
  }

  after(least: number, most: number, happen: () => void): void {
    this.schedule.after(this.random.between(least, most), happen);
  }

  tell(actor: string, what: string): void {
    this.moments.push({ at: this.schedule.now, actor, what });
  }
}
