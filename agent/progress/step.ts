import { wholeNumber } from "../whole-number.ts";

const PREFIX = "step=";

/** The step in a progress file: `step=1234`, or just `1234`. Undefined for any other text. */
export function readStep(text: string): number | undefined {
  const [line = ""] = text.split("\n");
  const value = line.trim();
  return wholeNumber(value.startsWith(PREFIX) ? value.slice(PREFIX.length).trim() : value);
}
