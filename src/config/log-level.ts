// Levels of the log, for the config file and the command line.

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Whether stack traces are shown: to whoever debugs reprise, not to whoever runs it. */
export function showsStacks(level: LogLevel | undefined): boolean {
  return level === "debug" || level === "trace";
}
