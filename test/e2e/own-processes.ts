// The agent of a Pod as a process of this machine, and its startup probe where that is a process. The status of a Pod
// lags behind them.
import { readFileSync } from "node:fs";
import { AGENT, AGENT_ENV } from "../../src/api/names.ts";
import { allPids } from "../cluster/proc.ts";
import { run } from "../cluster/run.ts";

interface OwnProcesses {
  readonly agent: number | undefined;
  readonly probe: number | undefined;
}

export function ownProcesses(podUid: string): OwnProcesses {
  const own = allPids().filter((pid) => read(pid, "environ").includes(`${AGENT_ENV.podUid}=${podUid}`));
  const running = (...command: readonly string[]) => own.find((pid) => read(pid, "cmdline").join() === command.join());
  return { agent: running(AGENT.binary), probe: running(AGENT.binary, AGENT.probeCommand) };
}

/** A TCP connection, and how many bytes were sent on it. */
export interface Connection {
  readonly local: string;
  readonly bytesSent: number;
}

/** The open connections to this port from the network namespace of a process, which is that of its Pod. */
export function connectionsTo(port: number, pid: number | undefined): readonly Connection[] {
  const enter = ["nsenter", `--target=${pid}`, "--net"];
  const listed = run([...enter, "ss", "--tcp", "--info", "--oneline", "--numeric", "--no-header", `dport = ${port}`]);
  return listed
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [, , , local = ""] = line.split(/\s+/);
      return { local, bytesSent: Number(/ bytes_sent:(\d+)/.exec(line)?.[1]) };
    });
}

/** The container ID as in a Pod's status, without the runtime's prefix. */
export function containerOf(pid: number | undefined): string {
  return pid === undefined ? "" : (/[0-9a-f]{64}/.exec(read(pid, "cgroup").join())?.[0] ?? "");
}

function read(pid: number, file: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8")
      .split("\0")
      .filter((part) => part !== "");
  } catch {
    return []; // The process has ended.
  }
}
