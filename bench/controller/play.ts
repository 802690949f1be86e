// Plays what the watches deliver to the controller under measurement, as fast as an API server sends it.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Subject } from "./subject.ts";
import type { Act, Events, Workload } from "./workload.ts";

/** A chunk of a watch holds about this many Pods. The event loop turns between two chunks. */
const CHUNK = 8;
const BEAT_MS = 5;
/** Nothing that is measured here takes this long. */
const PATIENCE_MS = 60_000;

export class Player {
  /** Events a second. */
  readonly #rate: number;

  constructor(rate: number) {
    this.#rate = rate;
  }

  /** Plays the acts in order, each when the group has reached what the one before it waits for. */
  async play(subject: Subject, group: Workload, acts: readonly Act[]): Promise<void> {
    for (const { events, until } of acts) {
      await this.#deliver(subject, events);
      const patience = performance.now() + PATIENCE_MS;
      for (;;) {
        const status = subject.status(group.key);
        if (status !== undefined && until(status)) break;
        if (performance.now() > patience) throw new Error(`the group does not go on: ${JSON.stringify(status)}`);
        await sleep(BEAT_MS);
      }
    }
  }

  async #deliver(subject: Subject, events: Events): Promise<void> {
    const began = performance.now();
    for (let at = 0; at < events.count; ) {
      const due = Math.min(events.count, Math.ceil(((performance.now() - began) / 1_000) * this.#rate));
      const end = Math.min(due, at + CHUNK);
      const made = making(() => Array.from({ length: end - at }, (_, index) => events.at(at + index)()));
      for (const deliverTo of made) deliverTo(subject.groups);
      at = end;
      if (at < due) await nextTurn();
      else if (at < events.count) await sleep(2);
    }
  }
}

export function silence(count: number): Events {
  return { count, at: () => () => () => {} };
}

let spentMaking = 0;

/** CPU time that went into making events, in microseconds. */
export function makingTime(): number {
  return spentMaking;
}

function making<T>(make: () => T): T {
  const began = process.threadCpuUsage();
  const made = make();
  const { user, system } = process.threadCpuUsage(began);
  spentMaking += user + system;
  return made;
}
