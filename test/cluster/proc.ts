// Looks up processes in /proc: by identity, by the file they run, and by namespace.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** A pid can be reused. Together with the start time it identifies one process. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
}

export function identify(pid: number): ProcessIdentity | undefined {
  try {
    // Field 22 of /proc/PID/stat; the command in field 2 may contain spaces and parentheses.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    const [state, startTime] = [fields[0], fields[19]];
    if (startTime === undefined || state === "Z" || state === "X") return undefined;
    return { pid, startTime };
  } catch {
    return undefined;
  }
}

export function thisProcess(): ProcessIdentity {
  const identity = identify(process.pid);
  if (identity === undefined) throw new Error("/proc is not mounted: the local cluster needs it");
  return identity;
}

export function isAlive(process: ProcessIdentity): boolean {
  return identify(process.pid)?.startTime === process.startTime;
}

export function allPids(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** Processes that run this file, even if it has been removed since. */
export function pidsRunning(file: string): number[] {
  return allPids().filter((pid) => {
    const program = readLink(`/proc/${pid}/exe`);
    return program === file || program === `${file} (deleted)`;
  });
}

/** Processes that run this file or are about to: `unshare FILE`, or a shell or `nsenter` with the file as last word. */
export function pidsStarting(file: string): number[] {
  const starters = allPids().filter((pid) => {
    const argv = commandLine(pid);
    return ["sh", "unshare", "nsenter"].includes(argv[0] ?? "") && argv.at(-1)?.endsWith(file) === true;
  });
  return [...new Set([...pidsRunning(file), ...starters])];
}

/** `nsenter` processes that wait for a program in the namespaces of this process. */
export function pidsEntering(target: number): number[] {
  return allPids().filter((pid) => {
    const argv = commandLine(pid);
    return argv[0] === "nsenter" && argv[1] === `--target=${target}`;
  });
}

function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
  } catch {
    return []; // The process has ended.
  }
}

/** The PID namespace of a process, for example pid:[4026532512]. */
export function pidNamespace(pid: number): string | undefined {
  return readLink(`/proc/${pid}/ns/pid`);
}

export function childOf(pid: number): number | undefined {
  try {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
    return child === undefined || child === "" ? undefined : Number(child);
  } catch {
    return undefined;
  }
}

/** Waits until the condition returns a value. On timeout the error says what it waited for. */
export async function waitFor<T>(
  what: string,
  timeoutMs: number,
  condition: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  let lastError: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value !== undefined && value !== false) return value;
    } catch (error) {
      lastError = error;
    }
    if (Date.now() > deadline) {
      throw new Error(`${what}: not within ${timeoutMs / 1000} s`, lastError === undefined ? {} : { cause: lastError });
    }
    await sleep(100);
  }
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // The process has ended, or is a kernel thread.
  }
}
