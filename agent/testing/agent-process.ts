// The agent as the process that runs in a Pod, for tests and benchmarks: started with its container's environment and
// observed only through its log, its exit code and its barrier.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { get } from "node:http";
import { createInterface } from "node:readline";
import { AGENT_ENV, BARRIER_PATH } from "../../src/api/names.ts";
import { savedRemovalPath, socketPath } from "../barrier/agent-files.ts";

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
    for (const path of [socketPath, savedRemovalPath]) rmSync(path(this.#podUid), { force: true });
  }
}

/** Asks as the startup probe does. Resolves when the barrier lifts; rejects when no agent holds it or it ends first. */
export function waitAtBarrier(podUid: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get({ socketPath: socketPath(podUid), path: BARRIER_PATH }, (response) => {
      response.resume();
      if (response.statusCode === 200) resolve();
      else reject(new Error(`the agent answered ${response.statusCode}`));
    });
    request.on("error", reject);
  });
}
