// Compares injection and its patch with the diff of fast-json-patch, on a 6 KB and a 230 KB JobSet: node bench/patch.ts
// Compare ratios of one run: the speed of the machine cancels out.
import jsonPatch from "fast-json-patch";
import { createPatch } from "../src/json/patch.ts";
import type { JsonObject } from "../src/json/types.ts";
import { create, injected, update } from "../test/builders/injection.ts";
import { container, jobSet } from "../test/builders/jobset.ts";
import { stored } from "../test/builders/stored.ts";

/** Long enough for the optimising compiler and for a steady median. */
const RUN_MS = 1_000;

/** A JobSet of about `bytes`, in the proportions of real ones: a few replicatedJobs, many variables. */
function sized(bytes: number, replicatedJobs: number): JsonObject {
  const variables = Math.max(1, Math.round((bytes / replicatedJobs - 350) / 62));
  const builder = jobSet();
  for (let index = 0; index < replicatedJobs; index++) {
    const env = Array.from({ length: variables }, (_, at) => ({
      name: `VARIABLE_${at}`,
      value: "a value of usual length",
    }));
    builder.replicatedJob(`job-${index}`, { pods: 4, containers: [container("train", { env })] });
  }
  // Parsed from text, as the webhook gets it.
  return JSON.parse(JSON.stringify(builder.build()));
}

/** Median time of one call, in microseconds. */
function measure(work: () => unknown): number {
  const times: number[] = [];
  for (const end = performance.now() + RUN_MS; performance.now() < end; ) {
    const started = performance.now();
    work();
    times.push(performance.now() - started);
  }
  times.sort((a, b) => a - b);
  return (times[Math.floor(times.length / 2)] ?? 0) * 1_000;
}

const rows: string[][] = [["", "inject", "patch", "fast-json-patch", "ratio", "update, plain", "update, no change"]];
for (const [label, object] of [
  ["6 KB", sized(6_000, 3)],
  ["230 KB", sized(230_000, 20)],
] as const) {
  const result = injected(create(object));
  const live: JsonObject = JSON.parse(JSON.stringify(stored(result)));
  const own = measure(() => createPatch(object, result));
  const theirs = measure(() => jsonPatch.compare(object, result));
  const micros = (value: number) => `${value.toFixed(1)} µs`;
  const sentAgain: JsonObject = JSON.parse(JSON.stringify(live));
  const updated = (sent: JsonObject) => createPatch(sent, injected(update(sent, live)));
  rows.push([
    `${label} (${Math.round(JSON.stringify(object).length / 1_000)} KB)`,
    micros(measure(() => create(object))),
    micros(own),
    micros(theirs),
    `${(theirs / own).toFixed(0)}x`,
    micros(measure(() => updated(object))),
    micros(measure(() => updated(sentAgain))),
  ]);
}
const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
for (const row of rows) console.log(row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join("  "));
