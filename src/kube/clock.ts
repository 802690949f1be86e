// The clock of this folder: a monotonic reading and one-shot timers, so that tests and the simulator can control time.

export interface Clock {
  /** Monotonic milliseconds; not comparable between processes. */
  now(): number;
  /** Calls `run` once after `ms`, unless the returned function is called first. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Waits `ms`, or until the signal aborts. Never rejects: the caller checks its own state afterwards. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener("abort", end);
  });
}
