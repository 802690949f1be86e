// Turns a process signal into a promise.
import { constants } from "node:os";

const TERMINATION_SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Resolves with the first termination signal. A second one exits at once, with the exit code that shells expect. */
export function terminationSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isTerminating = false;
    for (const signal of TERMINATION_SIGNALS) {
      process.on(signal, () => {
        if (isTerminating) process.exit(128 + constants.signals[signal]);
        isTerminating = true;
        resolve(signal);
      });
    }
  });
}
