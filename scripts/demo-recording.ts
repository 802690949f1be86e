// npm run demo-recording: runs the demo on a terminal of its own, and writes what it shows to docs/images/demo.svg,
// which README.md has. It needs what the demo needs, and `script` of util-linux.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { animatedSvg } from "./recording/animated-svg.ts";
import { type Output, paced, record } from "./recording/terminal.ts";

const IMAGE = "docs/images/demo.svg";
const [COLUMNS, ROWS] = [120, 32];
/** Seconds. */
const PACE = { longest: 2.5, perLine: 0.06 } as const;
const REST = 6;

const command = `stty cols ${COLUMNS} rows ${ROWS}; exec node scripts/demo.ts --keep`;
const args = ["--quiet", "--return", "--flush", "--command", command, "/dev/null"];
const terminal = spawn("script", args, { stdio: ["pipe", "pipe", "inherit"] });
terminal.stdout.setEncoding("utf8");
const began = performance.now();
const outputs: Output[] = [{ at: 0, text: "$ npm run demo -- --keep\r\n" }];
let slot: string | undefined;
terminal.stdout.on("data", async (text: string) => {
  outputs.push({ at: (performance.now() - began) / 1_000, text });
  process.stdout.write(text);
  const shown = /cluster -- down --slot (\d+)/.exec(text)?.[1];
  if (shown === undefined) return;
  slot = shown;
  // The demo waits for Ctrl-C at its end.
  await sleep(1_000);
  terminal.stdin.write("\u0003");
});
const [code] = await once(terminal, "close");
if (slot !== undefined) spawn("npm", ["run", "cluster", "--", "down", "--slot", slot], { stdio: "inherit" });
if (code !== 0 || slot === undefined) throw new Error(`the demo ended with exit code ${code}`);
const title = "npm run demo: what the webhook adds, a simulated failure, and a real one with and without reprise";
writeFileSync(IMAGE, animatedSvg(record(paced(outputs, PACE)), { columns: COLUMNS, rows: ROWS, title, rest: REST }));
process.stdout.write(`${IMAGE}\n`);
