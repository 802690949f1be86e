// Questions to /proc: is that process still the one we started, which processes run a given file or share a namespace.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** A pid alone may be reused; with its start time it names one process for ever. */
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

/** Processes whose program is this very file, also when the file has been removed since. */
export function pidsRunning(file: string): number[] {
  return allPids().filter((pid) => {
    const program = readLink(`/proc/${pid}/exe`);
    return program === file || program === `${file} (deleted)`;
  });
}

/** Processes that run this file or are about to: `unshare FILE`, a shell or `nsenter` whose last word is the file. */
export function pidsStarting(file: string): number[] {
  const starters = allPids().filter((pid) => {
    const argv = commandLine(pid);
    return ["sh", "unshare", "nsenter"].includes(argv[0] ?? "") && argv.at(-1)?.endsWith(file) === true;
  });
  return [...new Set([...pidsRunning(file), ...starters])];
}

/** `nsenter` processes that started a program in the namespaces of this process and wait for its end. */
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
    return []; // Gone meanwhile.
  }
}

/** Identifies the PID namespace of a process, such as pid:[4026532512]. */
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

/** Waits until the condition gives a value; says what it waited for when it does not. */
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
    return undefined; // The process is gone, or is a kernel thread.
  }
}
