// What could not be read from the cluster. A watch retries for as long as it fails and reports every failure, so a
// problem that is not reported again is over. Pure.
import type { Problem } from "./wire.ts";

/** Longer than the longest pause between two attempts. */
const LASTS_MS = 30_000;

export class Problems {
  readonly #failures = new Map<string, { readonly message: string; readonly at: number }>();

  failed(watched: string, message: string, now: number): void {
    this.#failures.set(watched, { message, at: now });
  }

  /** A change has arrived, so the collection can be read. */
  succeeded(watched: string): void {
    this.#failures.delete(watched);
  }

  at(now: number): readonly Problem[] {
    return [...this.#failures]
      .filter(([, { at }]) => now - at < LASTS_MS)
      .map(([watched, { message }]) => ({ watched, message }))
      .sort((a, b) => (a.watched < b.watched ? -1 : 1));
  }
}
