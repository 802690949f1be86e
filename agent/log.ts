// One JSON line per state change. Written synchronously: the line before an exit is the one that matters.
import { writeSync } from "node:fs";

type Fields = Readonly<Record<string, string | number | undefined>>;

const STDOUT = 1;

export const log = {
  info: (message: string, fields?: Fields) => write("info", message, fields),
  warn: (message: string, fields?: Fields) => write("warn", message, fields),
};

export type Log = typeof log;

function write(level: string, msg: string, fields?: Fields): void {
  try {
    writeSync(STDOUT, `${JSON.stringify({ level, time: new Date().toISOString(), ...fields, msg })}\n`);
  } catch {
    // A log that nobody reads any more (EPIPE, EAGAIN) must not cost a running worker.
  }
}
