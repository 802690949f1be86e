// What the controller has written and the watches do not show yet. No group is reconciled before its last writes are
// visible: a decision made on the view from before would only be refused.
import type { Group } from "../group/group.ts";

/** Whether the watches show the write. */
type Expectation = (group: Group) => boolean;

/** Watches deliver within milliseconds. One that reconnects may skip a state for good, so the wait has an end. */
const PATIENCE_MS = 5_000;

export class Expectations {
  readonly #now: () => number;
  /** By the key of the group. */
  readonly #pending = new Map<string, { readonly holds: Expectation; readonly until: number }>();

  /** `now` in milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Adds to what the group is still expected to show. */
  expect(key: string, holds: Expectation): void {
    const before = this.#pending.get(key)?.holds;
    const all: Expectation = before === undefined ? holds : (group) => before(group) && holds(group);
    this.#pending.set(key, { holds: all, until: this.#now() + PATIENCE_MS });
  }

  /** How long to wait for the writes to become visible, in milliseconds; 0 once they are, or when time is up. */
  waitMs(key: string, group: Group): number {
    const pending = this.#pending.get(key);
    if (pending === undefined) return 0;
    const left = pending.until - this.#now();
    if (left > 0 && !pending.holds(group)) return left;
    this.#pending.delete(key);
    return 0;
  }

  forget(key: string): void {
    this.#pending.delete(key);
  }
}
