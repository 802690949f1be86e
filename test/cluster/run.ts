// Runs a short command and returns its output. A failure names the command and quotes its error output.
import { spawnSync } from "node:child_process";

export function run(argv: readonly string[]): string {
  const [command = "", ...args] = argv;
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", maxBuffer: 64 << 20 });
  if (error !== undefined) throw new Error(`${argv.join(" ")}: ${error.message}`, { cause: error });
  if (status !== 0) throw new Error(`${argv.join(" ")}: exit ${status}: ${stderr.trim()}`);
  return stdout;
}
