// Simulates one failure with the real decisions of controller and agents, in virtual time.
import { styleText } from "node:util";
import { playScenario } from "../../src/simulate/play.ts";
import { timelineLines } from "../../src/simulate/timeline.ts";

const FAULT_AT_MS = 15_000;

export function showTimeline(): void {
  const began = performance.now();
  const { moments } = playScenario({ seed: 1, pods: 4, faults: [{ kind: "kill-worker", at: FAULT_AT_MS }] });
  const took = (performance.now() - began).toFixed(0);
  process.stdout.write(
    `One of four workers fails. The decisions are those of a cluster, in virtual time (${took} ms):\n\n`,
  );
  for (const line of timelineLines(moments.filter(({ at }) => at >= FAULT_AT_MS))) {
    process.stdout.write(`${line.includes("FAULT") ? styleText("red", line) : line}\n`);
  }
}
