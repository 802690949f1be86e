// The options that every command understands, before or after its name.
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
    .addOption(new Option("--log-level <level>", "least severe level that is logged").choices(LOG_LEVELS))
    .option("--config <file>", "config file; without it the defaults hold")
    .option("--kubeconfig <file>", "kubeconfig; without it KUBECONFIG, the Pod's service account, then ~/.kube/config")
    .option("--context <name>", "context of the kubeconfig");
}

/** The global options as given on the command line of `command` or of the commands above it. */
export function globalOptions(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>();
}
