// Shows the progress of steps that take minutes: a progress bar on a terminal; in CI logs a line when a step begins,
// every half minute, and when it ends.
import { styleText } from "node:util";

export interface Step {
  /** The completed fraction (0 to 1, or undefined when unknown), and what is being done now. */
  update(fraction: number | undefined, detail: string): void;
  done(): void;
}

export interface Progress {
  step(title: string): Step;
}

const BAR_WIDTH = 24;
const LOG_INTERVAL_MS = 30_000;

export function terminalProgress(stream: NodeJS.WriteStream = process.stderr): Progress {
  return { step: (title) => (stream.isTTY ? barStep(stream, title) : lineStep(stream, title)) };
}

/** For tests. */
export const silentProgress: Progress = { step: () => ({ update() {}, done() {} }) };

function barStep(stream: NodeJS.WriteStream, title: string): Step {
  const start = Date.now();
  let last = { fraction: undefined as number | undefined, detail: "" };
  const draw = () => {
    const filled = Math.round((last.fraction ?? 0) * BAR_WIDTH);
    const bar = last.fraction === undefined ? "" : `${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)} `;
    const line = `${title} ${bar}${seconds(start)} ${last.detail}`;
    stream.write(`\r\x1b[2K${line.slice(0, (stream.columns ?? 80) - 1)}`);
  };
  const timer = setInterval(draw, 250);
  timer.unref();
  return {
    update(fraction, detail) {
      last = { fraction, detail };
    },
    done() {
      clearInterval(timer);
      stream.write(`\r\x1b[2K${styleText("green", "✓")} ${title} ${seconds(start)}\n`);
    },
  };
}

function lineStep(stream: NodeJS.WriteStream, title: string): Step {
  const start = Date.now();
  let logged = start;
  stream.write(`${title} ...\n`);
  return {
    update(fraction, detail) {
      if (Date.now() - logged < LOG_INTERVAL_MS) return;
      logged = Date.now();
      const percent = fraction === undefined ? "" : ` ${Math.round(fraction * 100)} %`;
      stream.write(`${title}${percent} after ${seconds(start)}: ${detail}\n`);
    },
    done() {
      stream.write(`${title}: done in ${seconds(start)}\n`);
    },
  };
}

function seconds(start: number): string {
  return `${((Date.now() - start) / 1000).toFixed(1)} s`;
}
