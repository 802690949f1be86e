// Global options, accepted before or after the name of a command.
import { type Command, Option } from "commander";
import { LOG_LEVELS, type LogLevel } from "../config/log-level.ts";

export interface GlobalOptions {
  readonly logLevel?: LogLevel;
  /** Path of a config file. */
  readonly config?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

export function addGlobalOptions(program: Command): Command {
  return program
    .addOption(new Option("--log-level <level>", "log messages of this level and above").choices(LOG_LEVELS))
    .option("--config <file>", "config file (default: built-in defaults)")
    .option(
      "--kubeconfig <file>",
      "kubeconfig file (default: $KUBECONFIG, the Pod's service account, or ~/.kube/config)",
    )
    .option("--context <name>", "kubeconfig context to use");
}

/** The global options as given to `command` or its parents. */
export function globalOptions(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>();
}
