// `reprise config check`: validates a config file before it is rolled out.
import type { Command } from "commander";
import { globalOptions } from "../options.ts";

export function addConfig(program: Command): void {
  program
    .command("config")
    .description("work with config files")
    .command("check")
    .description("check the file given by --config and list every problem")
    .action(async (_options: object, command: Command) => {
      const { loadConfig } = await import("../../config/config-file.ts");
      const { config } = globalOptions(command);
      await loadConfig(config);
      process.stdout.write(config === undefined ? "no --config given, the defaults apply\n" : `${config} is valid\n`);
    });
}
