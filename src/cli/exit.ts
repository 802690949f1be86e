// What a failed command prints: one line per problem, with what to do. Stacks are shown only at --log-level debug.
import { type Command, CommanderError } from "commander";
import { showsStacks } from "../config/log-level.ts";
import { ProblemList, RepriseError, reasonOf } from "../errors.ts";
import { describeError, type ErrorRecord } from "../telemetry/error-record.ts";
import { globalOptions } from "./options.ts";

/** The lines for stderr; none if nothing failed (commander also throws to exit after `--help`). */
export function failureLines(error: unknown, program: Command): string[] {
  if (error instanceof CommanderError) return usageLines(error, program.name());
  const messages = summaries(error, program.name());
  return showsStacks(globalOptions(program).logLevel)
    ? [...messages, ...stackLines(describeError(error, { stack: true }))]
    : messages;
}

function summaries(error: unknown, name: string): string[] {
  if (error instanceof ProblemList) return error.errors.map((problem) => `${name}: ${oneLine(reasonOf(problem))}`);
  if (error instanceof RepriseError) return [`${name}: ${oneLine(error.message)}`];
  return [`${name}: unexpected error: ${oneLine(reasonOf(error))}; run again with --log-level debug for details`];
}

function usageLines(error: CommanderError, name: string): string[] {
  if (error.exitCode === 0) return [];
  // commander has already printed the help text.
  if (error.code === "commander.help") return [`${name}: no command given; use one of the commands above`];
  return [
    `${name}: ${oneLine(error.message)
      .replace(/^error: /, "")
      .replace(/\.$/, "")}; see "${name} --help"`,
  ];
}

function stackLines(record: ErrorRecord): string[] {
  return [
    ...(record.stack ?? `${record.type}: ${record.message}`).split("\n"),
    ...(record.errors ?? []).flatMap(stackLines),
    ...(record.cause === undefined ? [] : ["caused by:", ...stackLines(record.cause)]),
  ];
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, " ").trim();
}
