// Lets a request wait until a watch shows what the request depends on. Objects that belong together are often applied
// together, and a watch may lag by milliseconds.
import { setTimeout as sleep } from "node:timers/promises";
import type { Reflector } from "../kube/reflector.ts";
import type { Pending } from "./admission.ts";

/** More than any healthy watch needs, and little of the 5 s that the API server waits. */
const CATCH_UP_MS = 500;

/** Starting without the first list is better than not starting: only some JobSets need it, and they can wait. */
const FIRST_LIST_MS = 5_000;

/** Returns after the first list, or after a timeout; the list is then retried in the background. */
export async function startWatch<T>(reflector: Reflector<T>): Promise<void> {
  reflector.start();
  await Promise.race([reflector.whenSynced(), sleep(FIRST_LIST_MS, undefined, { ref: false })]);
}

export class CatchUp {
  /** Called on every change. */
  readonly #waiting = new Set<() => void>();

  /** Resolves when the condition holds, or after half a second. Undefined if it holds already. */
  until(isKnown: () => boolean): Promise<void> | undefined {
    if (isKnown()) return undefined;
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve();
      };
      const look = () => {
        if (isKnown()) end();
      };
      const timer = setTimeout(end, CATCH_UP_MS);
      this.#waiting.add(look);
    });
  }

  /** Checks the conditions again, after every change that the watch shows. */
  wake(): void {
    for (const look of this.#waiting) look();
  }
}

/** Waits for everything that one of them waits for. */
export function allOf(...all: readonly Pending[]): Pending {
  return (request) => {
    const waits = all.map((pending) => pending(request)).filter((wait) => wait !== undefined);
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => {});
  };
}
