// The agent as the process that runs in a Pod, for tests and the bench: started with the environment of its container,
// observed by its log, its exit code and its probe alone.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { get } from "node:http";
import { createInterface } from "node:readline";
import { AGENT } from "../../src/api/names.ts";

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

  constructor(command: readonly [string, ...string[]], env: Environment) {
    const [program, ...args] = command;
    // No PATH and no HOME either: a container of the image has neither.
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

  /** The messages so far, in order. */
  get said(): string[] {
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
  }
}

/** The kubelet's probe. Resolves to the status, and rejects when the connection is refused or ends before the answer. */
export function httpProbe(port: number, path: string = AGENT.probePath): Promise<number> {
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port, path, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).on("error", reject);
  });
}
