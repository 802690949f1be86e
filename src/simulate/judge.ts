// Observes a simulated run from outside, knows its true state, and records every violation of the protocol's
// invariants.
import type { StoredObject } from "./api-server.ts";

/** A worker process that is running. */
interface RunningWorker {
  readonly pod: string;
  readonly jobSetUid: string;
  readonly stage: string;
  readonly epoch: number;
}

export class Judge {
  readonly #tell: (breach: string) => void;
  readonly #running = new Map<string, RunningWorker>();
  #jobSetUid = "";
  /** The highest epoch published for each slot of the current JobSet, by stage; infinite once the slot succeeded. */
  readonly #reached = new Map<string, Map<string, number>>();
  readonly #breaches: string[] = [];

  constructor(tell: (breach: string) => void) {
    this.#tell = tell;
  }

  get breaches(): readonly string[] {
    return this.#breaches;
  }

  /** Workers of the current JobSet. */
  get running(): readonly RunningWorker[] {
    return [...this.#running.values()].filter(({ jobSetUid }) => jobSetUid === this.#jobSetUid);
  }

  /** A JobSet was created, or all of its Jobs recreated: no slot has published an epoch. Slots are given by stage. */
  reset(jobSetUid: string, slots: ReadonlyMap<string, readonly string[]>): void {
    this.#jobSetUid = jobSetUid;
    this.#reached.clear();
    for (const [stage, names] of slots) this.#reached.set(stage, new Map(names.map((name) => [name, 0])));
  }

  slotReached(jobSetUid: string, slot: string, epoch: number): void {
    if (jobSetUid !== this.#jobSetUid) return;
    for (const slots of this.#reached.values()) {
      const before = slots.get(slot);
      if (before !== undefined) slots.set(slot, Math.max(epoch, before));
    }
  }

  workerStarted(uid: string, worker: RunningWorker): void {
    const { pod, jobSetUid, stage, epoch } = worker;
    const slots = jobSetUid === this.#jobSetUid ? this.#reached.get(stage) : undefined;
    for (const [slot, reached] of slots ?? []) {
      if (reached >= epoch) continue;
      this.#breach(`worker of ${pod} started in epoch ${epoch} before slot ${slot} reached it (${reached})`);
    }
    for (const other of this.#running.values()) {
      if (other.jobSetUid !== jobSetUid || other.epoch === epoch) continue;
      this.#breach(
        `worker of ${pod} started in epoch ${epoch} while that of ${other.pod} runs in epoch ${other.epoch}`,
      );
    }
    this.#running.set(uid, worker);
  }

  workerEnded(uid: string): void {
    this.#running.delete(uid);
  }

  objectWritten(before: StoredObject | undefined, after: StoredObject): void {
    const [old, status] = [before?.status, after.status];
    if (status === undefined) return;
    if (status.deprecatedEpoch > status.syncedEpoch) this.#breach("deprecatedEpoch is above syncedEpoch");
    if (old === undefined) return;
    if (status.syncedEpoch < old.syncedEpoch) this.#breach("syncedEpoch moved back");
    if (status.deprecatedEpoch < old.deprecatedEpoch) this.#breach("deprecatedEpoch moved back");
    if (status.restarts < old.restarts) this.#breach("restarts moved back");
    if (status.restarts > old.restarts + 1) this.#breach("one write counted several restarts");
  }

  /** For judges of their own promises. */
  report(breach: string): void {
    this.#breach(breach);
  }

  #breach(what: string): void {
    this.#tell(what);
    this.#breaches.push(what);
  }
}
