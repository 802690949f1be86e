// Log levels of the config file and the command line.

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Stack traces help developers of reprise, not its users. */
export function showsStacks(level: LogLevel | undefined): boolean {
  return level === "debug" || level === "trace";
}
