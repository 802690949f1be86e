// Checks the figures of a benchmark against the gates in ranges.yaml, where "fast enough" is data in one place.
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";

const gate = z
  .strictObject({
    min: z.number().optional(),
    max: z.number().optional(),
    /** How far a single run may exceed the limit, as a share of it: the spread between runs of the same code. */
    tolerance: z.number().min(0).max(1).default(0),
    why: z.string().min(1),
  })
  .refine(({ min, max }) => min !== undefined || max !== undefined, "a gate needs min or max");
const ranges = z.record(z.string(), z.record(z.string(), gate));

/** Prints a line for each gate of this benchmark. False if one is broken, or its figure was not measured. */
export function checkGates(benchmark: string, figures: Readonly<Record<string, number>>): boolean {
  const file = new URL("ranges.yaml", import.meta.url);
  const gates = ranges.parse(parse(readFileSync(file, "utf8")))[benchmark] ?? {};
  let holds = true;
  for (const [figure, { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, tolerance }] of Object.entries(
    gates,
  )) {
    const measured = figures[figure] ?? Number.NaN;
    const isWithin = measured >= min * (1 - tolerance) && measured <= max * (1 + tolerance);
    const limits = [min > 0 ? `at least ${min}` : "", max < Number.POSITIVE_INFINITY ? `at most ${max}` : ""];
    const spread = tolerance === 0 ? "" : ` ± ${tolerance * 100} %`;
    const limit = `${limits.filter(Boolean).join(", ")}${spread}`;
    console.log(`${isWithin ? "holds " : "BROKEN"}  ${figure}: ${measured.toFixed(2)}, ${limit}`);
    holds &&= isWithin;
  }
  return holds;
}
