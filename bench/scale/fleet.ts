// The benchmark's end of the hollow fleet: it starts the two processes and asks them over IPC.
import { type ChildProcess, fork } from "node:child_process";
import { openSync } from "node:fs";
import type { Traffic } from "./hollow-agent.ts";
import type { FleetState, KubeletOptions } from "./hollow-kubelet.ts";
import type { FleetQuestion } from "./kubelet-program.ts";
import type { Side } from "./side.ts";

export class Fleet {
  readonly #kubelet: ChildProcess;
  readonly #waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  #questions = 0;
  #agents = 0;

  private constructor(kubelet: ChildProcess) {
    this.#kubelet = kubelet;
    kubelet.on("message", ({ number, result }: { number: number; result: unknown }) => {
      this.#waiting.get(number)?.resolve(result);
      this.#waiting.delete(number);
    });
    kubelet.on("exit", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the hollow kubelet ended; see its log"));
    });
  }

  static async start(side: Side, options: KubeletOptions, logFile: string): Promise<Fleet> {
    const log = openSync(logFile, "a");
    const program = new URL("kubelet-program.ts", import.meta.url).pathname;
    const fleet = new Fleet(fork(program, [side], { stdio: ["ignore", log, log, "ipc"] }));
    const { agents } = (await fleet.#ask({ ask: "start", options })) as { agents: number };
    fleet.#agents = agents;
    return fleet;
  }

  get pids(): { readonly "hollow kubelets": number; readonly "hollow agents": number } {
    return { "hollow kubelets": this.#kubelet.pid ?? 0, "hollow agents": this.#agents };
  }

  async state(): Promise<FleetState> {
    return (await this.#ask({ ask: "state" })) as FleetState;
  }

  async traffic(): Promise<Traffic> {
    return (await this.#ask({ ask: "traffic" })) as Traffic;
  }

  /** One worker of each group exits. Returns when, in milliseconds since 1970. With `hold`, their Pods stay down. */
  async fail(hold = false): Promise<number> {
    return (await this.#ask({ ask: "fail", hold })) as number;
  }

  async release(): Promise<void> {
    await this.#ask({ ask: "release" });
  }

  stop(): void {
    this.#kubelet.disconnect();
  }

  #ask(question: FleetQuestion): Promise<unknown> {
    const number = this.#questions++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(number, { resolve, reject });
    this.#kubelet.send({ number, question });
    return promise;
  }
}
