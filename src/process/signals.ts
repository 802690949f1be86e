// Turns a process signal into a promise.
import { constants } from "node:os";

const ENDING = ["SIGTERM", "SIGINT"] as const;

/** The first signal that asks the process to end. A second one ends it at once, with the code shells expect. */
export function endingSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of ENDING) {
      process.on(signal, () => {
        if (asked) process.exit(128 + constants.signals[signal]);
        asked = true;
        resolve(signal);
      });
    }
  });
}
