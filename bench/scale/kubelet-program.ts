// The hollow kubelet as a process of its own, and the parent of the process of all agents: node kubelet-program.ts
// SIDE. It is told what to do over IPC (fleet.ts) and ends with its parent.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { bunFor, nativeArch } from "../../scripts/architectures.ts";
import type { AgentCommand } from "./hollow-agent.ts";
import { HollowKubelet, type KubeletOptions } from "./hollow-kubelet.ts";

/** What the benchmark asks of the fleet. Every question gets one answer with the same number. */
export type FleetQuestion =
  | { readonly ask: "start"; readonly options: KubeletOptions }
  | { readonly ask: "fail"; readonly hold: boolean }
  | { readonly ask: "release" | "state" | "traffic" };

const program = new URL("agents-program.ts", import.meta.url).pathname;
const agents = spawn(bunFor(nativeArch()), [program, process.argv[2] ?? ""], {
  stdio: ["pipe", "pipe", "inherit"],
});
agents.on("exit", (code) => {
  console.error(`the process of all agents ended with ${code}`);
  process.exit(1);
});
const tellAgents = (command: AgentCommand) => agents.stdin.write(`${JSON.stringify(command)}\n`);
let kubelet: HollowKubelet | undefined;

async function answer(question: FleetQuestion): Promise<unknown> {
  if (question.ask === "start") {
    const started = new HollowKubelet(question.options, tellAgents);
    createInterface({ input: agents.stdout }).on("line", (line) => started.hear(JSON.parse(line)));
    void started.watch();
    kubelet = started;
    return { agents: agents.pid };
  }
  switch (question.ask) {
    case "fail":
      return kubelet?.fail(question.hold);
    case "release":
      return kubelet?.release();
    case "state":
      return kubelet?.state();
    case "traffic":
      return await kubelet?.traffic();
  }
}

process.on("message", ({ number, question }: { number: number; question: FleetQuestion }) => {
  void answer(question).then((result) => process.send?.({ number, result: result ?? null }));
});
process.on("disconnect", () => {
  agents.kill("SIGKILL");
  process.exit(0);
});
