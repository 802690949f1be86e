// Runs the control plane's programs as children of this process. The sandbox runs them in the cluster's namespaces.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { waitFor } from "./proc.ts";

export interface RunningProgram {
  readonly name: string;
  /** In the host's PID namespace. */
  readonly pid: number;
  readonly logFile: string;
  /** Sends SIGKILL and returns when the process is gone. */
  kill(): Promise<void>;
  /** Whether the program is running. */
  alive(): boolean;
}

export interface ProgramRunner {
  run(name: string, argv: readonly string[]): Promise<RunningProgram>;
}

/** Starts children that the kernel ends with this process, even after SIGKILL. */
export function childRunner(logFolder: string): ProgramRunner {
  return {
    async run(name, argv) {
      const logFile = join(logFolder, `${name}.log`);
      const child = spawnLogged(["setpriv", "--pdeathsig", "KILL", ...argv], logFile);
      return {
        name,
        pid: child.pid ?? 0,
        logFile,
        alive: () => isRunning(child),
        async kill() {
          child.kill("SIGKILL");
          await waitFor(`${name} ends`, 10_000, () => !isRunning(child));
        },
      };
    },
  };
}

export function spawnLogged(argv: readonly string[], logFile: string, detached = false): ChildProcess {
  const log = openSync(logFile, "a");
  const [command = "", ...args] = argv;
  const child = spawn(command, args, { stdio: ["ignore", log, log], detached });
  closeSync(log);
  if (detached) child.unref();
  return child;
}

/** Waits until the program is ready. If it exits or takes too long, the error contains the end of its log. */
export async function waitUntilReady(
  program: RunningProgram,
  timeoutMs: number,
  ready: () => Promise<boolean>,
): Promise<void> {
  try {
    await waitFor(`${program.name} is ready`, timeoutMs, async () => {
      if (!program.alive()) return "ended" as const;
      return (await ready()) && ("ready" as const);
    }).then((state) => {
      if (state === "ended") throw new Error(`${program.name} ended`);
    });
  } catch (error) {
    const log = readFileSync(program.logFile, "utf8").split("\n").slice(-15).join("\n");
    throw new Error(`${program.name} did not become ready; the end of its log:\n${log}`, { cause: error });
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}
