// The log: JSON lines, or readable lines on a terminal. It goes to stderr, because a command's result goes to stdout.
// It is written synchronously, so that the last line before an exit is not lost.
import { isatty } from "node:tty";
import { destination, type Logger, pino, stdTimeFunctions } from "pino";
import pretty from "pino-pretty";
import { type LogLevel, showsStacks } from "../config/log-level.ts";
import { describeError } from "./error-record.ts";

export type { Logger };

export interface LogOptions {
  readonly level: LogLevel;
  /** File descriptor; standard error by default. */
  readonly fd?: number;
  /** Readable lines instead of JSON; the default if `fd` is a terminal. */
  readonly pretty?: boolean;
}

/** The process's root logger. A component logs through `log.child({ component: "webhook" })`. */
export function createLogger(options: LogOptions): Logger {
  const { level, fd = STDERR } = options;
  const isPretty = options.pretty ?? isatty(fd);
  return pino(
    {
      level,
      // No process ID and host name: the container's log already identifies its source.
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => describeError(error, { stack: showsStacks(level) }) },
    },
    // In this process rather than in pino's worker thread, whose file would be missing from the bundle.
    isPretty ? pretty({ sync: true, destination: fd, singleLine: true }) : destination({ fd, sync: true }),
  );
}

const STDERR = 2;
