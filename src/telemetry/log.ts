// The log: JSON lines for machines, readable lines on a terminal. On stderr, because a command's result is on stdout.
// Written synchronously: the last line before an exit is the one that matters.
import { isatty } from "node:tty";
import { destination, type Logger, pino, stdTimeFunctions } from "pino";
import pretty from "pino-pretty";
import { type LogLevel, showsStacks } from "../config/log-level.ts";
import { describeError } from "./error-record.ts";

export type { Logger };

export interface LogOptions {
  readonly level: LogLevel;
  /** File descriptor to write to; standard error unless told otherwise. */
  readonly fd?: number;
  /** Lines for people instead of JSON; by default when `fd` is a terminal. */
  readonly pretty?: boolean;
}

/** The process's root logger. A part of the system logs through `log.child({ component: "webhook" })`. */
export function createLogger(options: LogOptions): Logger {
  const { level, fd = STDERR } = options;
  const forPeople = options.pretty ?? isatty(fd);
  return pino(
    {
      level,
      // No process id and host name: the container's log already says whose it is.
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => describeError(error, { stack: showsStacks(level) }) },
    },
    // In this process rather than in pino's worker thread, whose file would be missing from a bundle.
    forPeople ? pretty({ sync: true, destination: fd, singleLine: true }) : destination({ fd, sync: true }),
  );
}

const STDERR = 2;
