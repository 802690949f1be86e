// The agent as the process that runs in a Pod, for tests and benchmarks: started with its container's environment and
// observed only through its log, its exit code and its barrier.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { AGENT_ENV } from "../../src/api/names.ts";
import { KEEP_WAITING, LIFTED, savedEpochPath, savedRemovalPath, socketPath } from "../barrier/gate-socket.ts";

type Environment = Readonly<Record<string, string>>;

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly reason?: string;
}

export class AgentProcess implements AsyncDisposable {
  readonly lines: LogLine[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  readonly #podUid: string;

  constructor(command: readonly [string, ...string[]], env: Environment) {
    this.#podUid = env[AGENT_ENV.podUid] ?? "";
    const [program, ...args] = command;
    // A container of the image has neither PATH nor HOME.
    this.#child = spawn(program, args, { env: { ...env }, stdio: ["ignore", "pipe", "inherit"] });
    if (this.#child.stdout !== null) {
      createInterface({ input: this.#child.stdout }).on("line", (line) => this.lines.push(JSON.parse(line)));
    }
    this.#ended = once(this.#child, "close").then(() => this.#child.exitCode);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The log messages so far, in order. */
  get messages(): string[] {
    return this.lines.map(({ msg }) => msg);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  exitCode(): Promise<number | null> {
    return this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal("SIGKILL");
    await this.#ended;
    // In a Pod these are deleted with the Pod.
    for (const path of [socketPath, savedEpochPath, savedRemovalPath]) rmSync(path(this.#podUid), { force: true });
  }
}

/** Waits as the gate does. Resolves when the barrier lifts; rejects when no agent holds it or the agent ends first. */
export function waitAtBarrier(podUid: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath(podUid));
    let received = "";
    socket.on("data", (chunk) => {
      received = `${received}${chunk}`.replaceAll(KEEP_WAITING, "");
      if (received === LIFTED) resolve();
      else if (received !== "") reject(new Error(received));
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the agent ended the connection")));
  });
}
