// Part of `npm run lint`: keeps import cycles out and the order of the layers true.
import { readImports } from "./imports.ts";
import { findBreaches, findCycles } from "./layers.ts";

const graph = readImports(".");
const breaches = findBreaches(graph);
const cycles = findCycles(graph);
for (const { file, line, what, why } of breaches) process.stderr.write(`${file}:${line}: ${what}: ${why}\n`);
for (const cycle of cycles) process.stderr.write(`import cycle: ${cycle}\n`);
process.stdout.write(`layers: ${graph.size} files checked, ${breaches.length} breaches, ${cycles.length} cycles\n`);
if (breaches.length + cycles.length > 0) process.exitCode = 1;
