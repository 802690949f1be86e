// Shows the state of groups live until a signal ends it. It reads again every second, and less often where a read is
// slow, so that it never keeps the API server busy for more than a tenth of the time.
import { setTimeout as sleep } from "node:timers/promises";
import { changedLines, ENTER_SCREEN, LEAVE_SCREEN, screen } from "./live-view.ts";
import type { GroupReport } from "./status-report.ts";

interface WatchOptions {
  readonly read: () => Promise<readonly GroupReport[]>;
  /** The whole text for a terminal. */
  readonly render: (groups: readonly GroupReport[]) => string;
}

const INTERVAL_MS = 1_000;
const SHARE = 10;

export async function watchStatus({ read, render }: WatchOptions): Promise<void> {
  const { stdout } = process;
  const ending = new AbortController();
  const end = () => ending.abort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, end);
  // A pipe whose reader has left.
  stdout.once("error", end);
  const shown = new Map<string, string>();
  if (stdout.isTTY) stdout.write(ENTER_SCREEN);
  try {
    while (!ending.signal.aborted) {
      const began = Date.now();
      const groups = await read();
      if (ending.signal.aborted) break;
      const at = new Date().toISOString().slice(11, 19);
      if (stdout.isTTY) stdout.write(screen(render(groups), { columns: stdout.columns, rows: stdout.rows }, at));
      else for (const line of changedLines(groups, shown, at)) stdout.write(`${line}\n`);
      const pause = Math.max(INTERVAL_MS, SHARE * (Date.now() - began));
      await sleep(pause, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  } finally {
    if (stdout.isTTY) stdout.write(LEAVE_SCREEN);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, end);
  }
}
