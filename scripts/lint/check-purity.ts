// Part of `npm run lint`: keeps the functional core free of I/O, clients, clocks and randomness.
import { findImpurities, pureFiles } from "./purity.ts";

const impurities = findImpurities(".");
for (const { file, line, what, why } of impurities) process.stderr.write(`${file}:${line}: ${what}: ${why}\n`);
process.stdout.write(`purity: ${pureFiles(".").length} files checked, ${impurities.length} impurities\n`);
if (impurities.length > 0) process.exitCode = 1;
