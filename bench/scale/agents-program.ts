// All hollow agents of one side, in one process: bun agents-program.ts SIDE. Commands come as JSON lines on standard
// input, events go as JSON lines to standard output. It ends with its input.
import { createInterface } from "node:readline";
import { startAgent } from "./agent.ts";
import { type AgentCommand, type AgentEvent, type HollowAgent, newTraffic, type StartAgent } from "./hollow-agent.ts";
import type { Side } from "./side.ts";
import { startUpstreamAgent } from "./upstream-agent.ts";

const START: Readonly<Record<Side, StartAgent>> = { reprise: startAgent, upstream: startUpstreamAgent };

const start = START[process.argv[2] as Side];
const agents = new Map<string, HollowAgent>();
const traffic = newTraffic();

function tell(event: AgentEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}

function obey(command: AgentCommand): void {
  switch (command.do) {
    case "start": {
      const { agent, place } = command;
      const happened = (what: "published" | "lifted") => () => tell({ what, agent, at: Date.now() });
      const exited = (exitCode: number) => {
        agents.delete(agent);
        tell({ what: "exited", agent, at: Date.now(), exitCode });
      };
      agents.set(
        agent,
        start(place, { published: happened("published"), lifted: happened("lifted"), exited }, traffic),
      );
      return;
    }
    case "kill":
      agents.get(command.agent)?.kill();
      agents.delete(command.agent);
      return;
    case "count":
      tell({ what: "counted", traffic });
      return;
  }
}

// An agent that fails in an unforeseen way must not end the others.
process.on("uncaughtException", (error) => traffic.errors.push(`uncaught: ${error.message}`));
process.on("unhandledRejection", (error) => traffic.errors.push(`unhandled: ${String(error)}`));
createInterface({ input: process.stdin })
  .on("line", (line) => obey(JSON.parse(line)))
  .on("close", () => process.exit(0));
