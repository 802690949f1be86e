// `reprise completion`: prints a completion script for a shell.
import { Argument, type Command, type Option } from "commander";
import { type CompletedOption, completionScript, SHELLS, type Shell } from "../output/completion.ts";

export function addCompletion(program: Command): void {
  program
    .command("completion")
    .description("print the completion script of a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .addHelpText("after", "\nFor example, in ~/.bashrc: source <(reprise completion bash)")
    .action((shell: Shell) => {
      const commands = program.commands.map((command) => ({
        name: command.name(),
        description: command.description(),
        options: command.options.map(completed),
      }));
      process.stdout.write(
        completionScript(shell, program.name(), { commands, global: program.options.map(completed) }),
      );
    });
}

function completed({ short, long, description, argChoices = [], required, optional }: Option): CompletedOption {
  const flags = [short, long].filter((flag) => flag !== undefined && flag !== null);
  return { flags, description, choices: argChoices, takesValue: required || optional };
}
