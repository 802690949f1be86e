// What the workers of a simulated run do with their time: each makes a step per second, and none begins one before all
// have made the one before, as in a collective. So when one is stuck, all others wait for it, one step ahead. Also the
// judge of what the controller makes of it.
import type { InPlaceRestartStatus } from "../api/in-place-restart.ts";

interface Worker {
  readonly pod: string;
  readonly epoch: number;
  /** Until it is no longer stuck, in milliseconds since the start. */
  stuckUntil: number;
  steps: number;
  /** It has made a step itself. */
  moved: boolean;
  movedAt: number;
  /** By then every controller has seen that it moves again. */
  resumptionVisibleAt: number;
}

interface Surroundings {
  now(): number;
  /** When every watch has delivered what happens now. */
  visibleAt(): number;
  isSteady(): boolean;
  breach(what: string): void;
}

/** From a step to the report that takes back what the agent said: a look each second, and a request that is retried. */
const REPORT_MS = 3_000;

export class Training {
  readonly #around: Surroundings;
  readonly #workers = new Map<string, Worker>();
  /** Workers that were stuck when they ended: the controller may know their report and not yet their end. */
  readonly #endedStuck: Worker[] = [];
  /** How long no worker may make progress. Undefined where no hangs are detected. */
  hangAfterMs: number | undefined;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  started(uid: string, pod: string, epoch: number): void {
    const movedAt = this.#around.now();
    const peers = this.#peersIn(epoch);
    // A worker that starts later than the others joins them where they are.
    const steps = peers.length === 0 ? 0 : Math.min(...peers.map((each) => each.steps));
    this.#workers.set(uid, { pod, epoch, stuckUntil: 0, steps, moved: false, movedAt, resumptionVisibleAt: 0 });
  }

  ended(uid: string): void {
    const worker = this.#workers.get(uid);
    if (worker !== undefined && worker.stuckUntil > this.#around.now()) this.#endedStuck.push(worker);
    this.#workers.delete(uid);
  }

  /** For `ms`, or until its Pod restarts. Only a worker that has made a step: no other is known to hang. */
  stick(uid: string, ms: number): boolean {
    const worker = this.#workers.get(uid);
    if (worker?.moved !== true) return false;
    worker.stuckUntil = Math.max(worker.stuckUntil, this.#around.now() + ms);
    return true;
  }

  /** The steps of a worker, which makes one if nothing keeps it. Undefined if it does not run, 0 before its first. */
  look(uid: string): number | undefined {
    const worker = this.#workers.get(uid);
    if (worker === undefined) return undefined;
    const now = this.#around.now();
    const isAhead = this.#peersIn(worker.epoch).some(({ steps }) => steps < worker.steps);
    if (isAhead || worker.stuckUntil > now) return worker.moved ? worker.steps : 0;
    // It may have been reported.
    if (now - worker.movedAt >= (this.hangAfterMs ?? 0) / 2)
      worker.resumptionVisibleAt = this.#around.visibleAt() + REPORT_MS;
    worker.steps += 1;
    worker.moved = true;
    worker.movedAt = now;
    return worker.steps;
  }

  /** The Pod of a worker that never moves again by itself. */
  get hung(): string | undefined {
    return [...this.#workers.values()].find(({ stuckUntil }) => stuckUntil === Number.POSITIVE_INFINITY)?.pod;
  }

  /** This status ends its epoch. Returns whether a hang is the reason. */
  epochEnds({ history, syncedEpoch }: InPlaceRestartStatus): boolean {
    const record = history.at(-1);
    if (record?.cause.reason !== "Hung" || record.fromEpoch !== syncedEpoch) return false;
    const now = this.#around.now();
    const limit = this.hangAfterMs ?? Number.POSITIVE_INFINITY;
    const ended = this.#endedStuck.filter(({ epoch }) => epoch === syncedEpoch);
    const stuck = [...this.#peersIn(syncedEpoch).filter(({ stuckUntil }) => stuckUntil > 0), ...ended];
    const { pod: blamed } = record.cause;
    if (blamed !== undefined && stuck.length > 0 && stuck.every(({ pod }) => pod !== blamed))
      this.#around.breach(`${blamed} was blamed for the hang of ${stuck[0]?.pod}`);
    for (const { pod, epoch, movedAt, resumptionVisibleAt } of this.#workers.values()) {
      const moves = epoch === syncedEpoch && now - movedAt < limit;
      if (moves && now > resumptionVisibleAt && this.#around.isSteady())
        this.#around.breach(`epoch ${epoch} ended for a hang while ${pod} moves`);
    }
    return true;
  }

  #peersIn(epoch: number): readonly Worker[] {
    return [...this.#workers.values()].filter((each) => each.epoch === epoch);
  }
}
