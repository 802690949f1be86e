// Polls for a state that is about to be reached. For tests under node and under bun, which has no vi.waitFor.
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 10;

/** Repeats the check until it neither throws nor returns false. Fails with its last error after the timeout. */
export async function eventually(check: () => unknown, timeoutMs = 60_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let failure: unknown = new Error(`did not hold within ${timeoutMs} ms: ${check}`);
    try {
      if ((await check()) !== false) return;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) throw failure;
    await sleep(POLL_MS);
  }
}
