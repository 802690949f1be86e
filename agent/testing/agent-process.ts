// The agent as the process that runs in a Pod, for tests and the bench: started with the environment of its container,
// observed by its log, its exit code and its barrier alone.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { AGENT_ENV } from "../../src/api/names.ts";
import { keptEpochOf, LIFTED, socketOf, WAIT_ON } from "../barrier/socket-name.ts";

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
    // In a Pod, they go with the Pod.
    for (const path of [socketOf(this.#podUid), keptEpochOf(this.#podUid)]) rmSync(path, { force: true });
  }
}

/** As the gate does. Resolves when the barrier lifts, and rejects when nobody holds it or its holder ends before. */
export function liftOf(podUid: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketOf(podUid));
    let said = "";
    socket.on("data", (words) => {
      said = `${said}${words}`.replaceAll(WAIT_ON, "");
      if (said === LIFTED) resolve();
      else if (said !== "") reject(new Error(said));
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the agent ended the connection")));
  });
}
