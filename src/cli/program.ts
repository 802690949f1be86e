// The command line: global options, and one line per command. Each command is a file that loads its dependencies only
// when it runs.
import { Command } from "commander";
import { VERSION } from "../api/version.ts";
import { addCompletion } from "./commands/completion.ts";
import { addConfig } from "./commands/config.ts";
import { addController } from "./commands/controller.ts";
import { addDashboard } from "./commands/dashboard.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addExplain } from "./commands/explain.ts";
import { addInject } from "./commands/inject.ts";
import { addRestart } from "./commands/restart.ts";
import { addSimulate } from "./commands/simulate.ts";
import { addStatus } from "./commands/status.ts";
import { addValidate } from "./commands/validate.ts";
import { addVersion } from "./commands/version.ts";
import { addWebhook } from "./commands/webhook.ts";
import { addGlobalOptions } from "./options.ts";

/** `name` is the command that the user typed. */
export function createProgram(name: string): Command {
  const program = new Command(name)
    .description("Kubernetes JobSets that restart in place: recover a training job without recreating its Pods.")
    .version(VERSION, "--version", "print the version of this program")
    .helpOption("-h, --help", "show help")
    .showSuggestionAfterError()
    // commander throws instead of printing and exiting by itself: errors are printed in one place.
    .exitOverride()
    .configureOutput({ outputError: () => {} });
  addGlobalOptions(program);
  addCompletion(program);
  addConfig(program);
  addController(program);
  addDoctor(program);
  addExplain(program);
  addDashboard(program);
  addInject(program);
  addRestart(program);
  addSimulate(program);
  addStatus(program);
  addValidate(program);
  addVersion(program);
  addWebhook(program);
  return program;
}
