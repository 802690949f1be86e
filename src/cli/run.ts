// Runs one command line, from arguments to exit code. No other part of the CLI sets the exit code or prints an error.
import { basename } from "node:path";
import { failureLines } from "./exit.ts";
import { createProgram } from "./program.ts";

/** `argv` as in process.argv. */
export async function run(argv: readonly string[]): Promise<void> {
  const program = createProgram(invokedAs(argv[1] ?? ""));
  const fail = (error: unknown) => {
    const lines = failureLines(error, program);
    for (const line of lines) process.stderr.write(`${line}\n`);
    if (lines.length > 0) process.exitCode = 1;
  };
  // An error outside the command's own promise leaves the process in an unknown state: report it and exit.
  process.on("uncaughtException", (error) => {
    fail(error);
    process.exit();
  });
  // `reprise inject ... | head` closes stdout early, which is no failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  try {
    await program.parseAsync(argv);
  } catch (error) {
    fail(error);
  }
}

/** What the user typed. kubectl finds plugins by file name, and the help text should show a command that works. */
function invokedAs(script: string): string {
  return basename(script).startsWith("kubectl-") ? "kubectl reprise" : "reprise";
}
